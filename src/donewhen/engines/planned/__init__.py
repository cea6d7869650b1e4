"""Plan, build, evaluate: a planner writes the plan, a builder works on it, and an evaluator reviews the result."""
