"""Failure detectors: estimators (pure values) and the processes that host them.

Begin with :func:`protocols.detectors.catalogue.estimator` to make an estimator by name, and with
:class:`protocols.detectors.heartbeat.PushHeartbeat` to run some of them side by side.
"""
