"""The Korean model `mini-ko`; `elmokit.Elmo("mini-ko")` finds it by an entry point."""
