"""Memory of repairs: recognises failures by their signatures and recalls hints. It only handles texts."""
