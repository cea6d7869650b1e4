"""Ways to attempt the work. No engine decides that it is done, and none can import the code that does."""
