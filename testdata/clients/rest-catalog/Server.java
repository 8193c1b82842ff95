import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's REST catalog server on the loopback address, over a JDBC catalog in a SQLite file.
 * Arguments: catalog name, SQLite file, warehouse, and properties of the catalog as KEY=VALUE. Prints "port N" and serves until its standard input ends.
 */
class Main {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties =
        new HashMap<>(
            Map.of(
                "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri", "jdbc:sqlite:" + args[1],
                "warehouse", args[2],
                "jdbc.schema-version", "V1"));
    for (int i = 3; i < args.length; i++) {
      String[] property = args[i].split("=", 2);
      properties.put(property[0], property[1]);
    }
    Catalog catalog = CatalogUtil.buildIcebergCatalog(args[0], properties, new Configuration());
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(context);
    server.start();
    System.out.println("port " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    server.stop();
    System.exit(0);
  }
}
