"""What is checked: functions of named arrays with a claimed derivative, by hand, of our engine or of others."""
