// JDBC client of the end-to-end tests: see ../README.md. Standard input holds, one a line and base64 coded: host, port, user,
// password, then the statements (sql, or sql TAB type:value TAB …), so that no JSON library is needed.
import java.sql.*;
import java.util.*;
import java.nio.charset.StandardCharsets;
import java.io.*;

public class Query {
    static String json(String s) {
        if (s == null) return "null";
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < 32 || c > 126) b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }

    static String rows(ResultSet rs) throws SQLException {
        ResultSetMetaData m = rs.getMetaData();
        StringJoiner columns = new StringJoiner(",", "[", "]"), types = new StringJoiner(",", "[", "]"), rows = new StringJoiner(",", "[", "]");
        for (int i = 1; i <= m.getColumnCount(); i++) {
            columns.add(json(m.getColumnLabel(i)));
            types.add(json(m.getColumnTypeName(i)));
        }
        while (rs.next()) {
            StringJoiner row = new StringJoiner(",", "[", "]");
            for (int i = 1; i <= m.getColumnCount(); i++) {
                Object v = rs.getObject(i);
                row.add(v == null || rs.wasNull() ? "null" : json(v instanceof byte[] ? HexFormat.of().formatHex((byte[]) v) : v.toString()));
            }
            rows.add(row.toString());
        }
        return "{\"columns\":" + columns + ",\"types\":" + types + ",\"rows\":" + rows + "}";
    }

    static String run(Connection c, String line) throws SQLException {
        String[] parts = line.split("\t");
        if (parts[0].equals("!tables")) {
            try (ResultSet rs = c.getMetaData().getTables(null, null, "%", null)) { return rows(rs); }
        }
        if (parts[0].equals("!columns")) {
            try (ResultSet rs = c.getMetaData().getColumns(null, null, "%", "%")) { return rows(rs); }
        }
        if (parts[0].equals("!catalogs")) {
            try (ResultSet rs = c.getMetaData().getCatalogs()) { return rows(rs); }
        }
        if (parts[0].equals("!schemas")) {
            try (ResultSet rs = c.getMetaData().getSchemas()) { return rows(rs); }
        }
        if (parts[0].equals("!product")) {
            DatabaseMetaData d = c.getMetaData();
            return "{\"columns\":[\"product\",\"version\",\"readonly\"],\"rows\":[[" + json(d.getDatabaseProductName()) + "," + json(d.getDatabaseProductVersion()) + "," + json("" + d.isReadOnly()) + "]]}";
        }
        if (parts.length == 1) {
            try (Statement s = c.createStatement()) {
                if (!s.execute(parts[0])) return "{\"columns\":[],\"rows\":[]}";
                try (ResultSet rs = s.getResultSet()) { return rows(rs); }
            }
        }
        try (PreparedStatement s = c.prepareStatement(parts[0])) {
            for (int i = 1; i < parts.length; i++) {
                String v = parts[i].substring(parts[i].indexOf(':') + 1);
                if (parts[i].startsWith("long:")) s.setLong(i, Long.parseLong(v));
                else if (parts[i].startsWith("double:")) s.setDouble(i, Double.parseDouble(v));
                else s.setString(i, v);
            }
            try (ResultSet rs = s.executeQuery()) { return rows(rs); }
        }
    }

    static String message(Throwable t) {
        StringBuilder b = new StringBuilder();
        for (; t != null; t = t.getCause()) b.append(t.getMessage()).append(" | ");
        return b.toString();
    }

    public static void main(String[] args) throws Exception {
        List<String> lines = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String l; (l = in.readLine()) != null; ) lines.add(new String(Base64.getDecoder().decode(l), StandardCharsets.UTF_8));
        Properties p = new Properties();
        p.put("user", lines.get(2));
        p.put("password", lines.get(3));
        p.put("useEncryption", "false");
        StringJoiner out = new StringJoiner(",", "[", "]");
        try (Connection c = DriverManager.getConnection("jdbc:arrow-flight-sql://" + lines.get(0) + ":" + lines.get(1), p)) {
            for (String l : lines.subList(4, lines.size())) {
                try { out.add(run(c, l)); } catch (Throwable t) { out.add("{\"error\":" + json(message(t)) + "}"); }
            }
        } catch (SQLException e) {
            if (out.length() <= 2) for (int i = 4; i < lines.size(); i++) out.add("{\"error\":" + json(message(e)) + "}");
        }
        System.out.println(out);
        System.exit(0);
    }
}
