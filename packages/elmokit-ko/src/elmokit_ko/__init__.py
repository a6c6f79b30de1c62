"""The Korean model `mini-ko`; `elmokit.Elmo("mini-ko")` finds it through an entry point."""
