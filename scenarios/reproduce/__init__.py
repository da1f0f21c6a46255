"""Published numbers beside ours: each module reproduces the figures of some papers."""
