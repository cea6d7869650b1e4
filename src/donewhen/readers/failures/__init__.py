"""What failed, out of what tools print: one pure reader for each kind of tool, all giving the same plain data."""
