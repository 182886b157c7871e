"""What is public: facts about the data, the promise, the plan and its cost. Nothing here reads a row."""
