"""The foreman: an intent split into subtasks, worked on by many hands, gated one by one and proven together."""
