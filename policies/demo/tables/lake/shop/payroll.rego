# Payroll exists for administrators only. For everybody else the name is as good as any that was never used.
package tables.lake.shop.payroll

import data.lib.gw

read if gw.has_role({"admin"})
