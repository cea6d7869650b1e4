"""`python tests/fake_agent …`: the scripted agent from its sources, in any directory."""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from fake_agent.agent import main

    sys.exit(main(sys.argv[1:]))
