"""What `rivals.py` is made of: texts, dialects, one adapter a rival, the clock, and the tables."""
