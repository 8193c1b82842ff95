package classify

import "testing"

// TestConverts: what is accepted surely converts, what is not may or may not.
func TestConverts(t *testing.T) {
	yes := map[string][]string{
		"VARCHAR": {"", "x"}, "BOOLEAN": {"true", "f"}, "TINYINT": {"127", "-128"}, "UTINYINT": {"127"}, "BIGINT": {"9223372036854775807"},
		"DECIMAL(4,2)": {"99.99", "-1", "0.5"}, "DECIMAL": {"123456789012345.123"}, "DOUBLE": {"-1.5"}, "FLOAT": {"1"},
		"DATE": {"2020-02-29", "0001-01-01"}, "TIME": {"23:59:59", "01:02:03.5"},
		"TIMESTAMP":                {"2020-01-01", "2020-01-01 10:00:00", "2020-01-01T10:00:00.123456"},
		"TIMESTAMP WITH TIME ZONE": {"2020-01-01 10:00:00+00", "2020-01-01 10:00:00Z"},
		"TIMESTAMP_NS":             {"2020-01-01 10:00:00"}, "INTERVAL": {"90 days", "1 year"}, "BLOB": {"abc"},
		"UUID": {"123e4567-e89b-12d3-a456-426614174000"},
	}
	no := map[string][]string{
		"": {"x"}, "BOOLEAN": {"x", ""}, "TINYINT": {"128", "-129", "1.5", "+1", " 1", ""}, "UTINYINT": {"-1"}, "BIGINT": {"9223372036854775808", "x", "1_0", "0x1"},
		"DECIMAL(4,2)": {"100", "1.555", ".", "1.", "1e1"}, "DOUBLE": {"1e400", "x", ""}, "DATE": {"2020-02-30", "0000-01-01", "2020-1-1", "x", ""},
		"TIME": {"24:00:00", "x"}, "TIMESTAMP": {"2020-02-30", "2020-01-01 25:00:00", "2020-01-01x10:00:00", "2020-01-01 10:00:00Z"},
		"TIMESTAMP_NS": {"9999-01-01"}, "INTERVAL": {"x", "999999 years", "1 fortnight", ""}, "BLOB": {`\xZZ`, "ü"}, "UUID": {"x"},
		"INTEGER[]": {"[1]"}, "STRUCT(a INTEGER)": {"{a: 1}"}, "JSON": {"{}"}, "MAP(VARCHAR, INTEGER)": {"{}"},
	}
	for typ, texts := range yes {
		for _, text := range texts {
			if !converts(text, typ) {
				t.Errorf("%q is no %s", text, typ)
			}
		}
	}
	for typ, texts := range no {
		for _, text := range texts {
			if converts(text, typ) {
				t.Errorf("%q counts as %s", text, typ)
			}
		}
	}
}

// TestIntervalUnits: each unit is one, alone and as many.
func TestIntervalUnits(t *testing.T) {
	for _, unit := range []string{"year", "quarter", "month", "week", "day", "hour", "minute", "second"} {
		if !converts("1 "+unit, "INTERVAL") || !converts("-12345 "+unit+"s", "INTERVAL") || converts("123456 "+unit, "INTERVAL") || converts("1 "+unit+" 1", "INTERVAL") {
			t.Errorf("%s is no unit", unit)
		}
	}
	if converts("1 century", "INTERVAL") || converts("day", "INTERVAL") {
		t.Error("what may not convert counts as sure")
	}
}
