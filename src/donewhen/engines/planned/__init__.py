"""Plan, build, evaluate: a planner writes down what is to be done, a builder does it, an evaluator has an opinion."""
