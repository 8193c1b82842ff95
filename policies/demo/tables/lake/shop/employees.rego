# Employees: analysts may count heads, but a salary is not even a column for them. A hidden column is missing from
# SELECT *, from metadata and from error messages, just as if the table had never had it.
package tables.lake.shop.employees

import data.lib.gw

read if gw.has_role({"admin", "analyst_eu"})

hidden contains "salary" if not gw.has_role({"admin"})
