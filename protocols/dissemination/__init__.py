"""How an update reaches every node: rumours, anti-entropy, and what they cost."""
