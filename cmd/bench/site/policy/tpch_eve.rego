# The copies of what eve sees are filtered and masked already: nothing is to be done.
package tables.tpch.tpch_eve

customer := {"read": true}

lineitem := {"read": true}

nation := {"read": true}

orders := {"read": true}

part := {"read": true}

partsupp := {"read": true}

region := {"read": true}

supplier := {"read": true}
