"""A small safe language for rules, conditions and questions: parsed, typed and limited, and never run as Python."""
