"""The foreman engine: splits an intent into subtasks for several workers, gates each patch, and proves the union."""
