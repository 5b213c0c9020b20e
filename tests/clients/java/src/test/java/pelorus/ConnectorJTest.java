// Connector/J with text and prepared statements, cursors, metadata, batches, errors and time-outs.
package pelorus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectorJTest {
  private static final String SERVER_PREPARE = "&useServerPrepStmts=true";
  private static final int ROWS = Integer.parseInt(System.getenv("PELORUS_ROWS"));

  private static Connection connect(String more) throws SQLException {
    return connect(more, System.getenv("PELORUS_PASSWORD"));
  }

  private static Connection connect(String more, String password) throws SQLException {
    String url = "jdbc:mysql://" + System.getenv("PELORUS_HOST") + ":" + System.getenv("PELORUS_PORT")
        + "/" + System.getenv("PELORUS_DATABASE") + "?connectTimeout=60000&socketTimeout=120000"
        + "&allowPublicKeyRetrieval=true&connectionTimeZone=UTC&forceConnectionTimeZoneToSession=true" + more;
    return DriverManager.getConnection(url, System.getenv("PELORUS_USER"), password);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", SERVER_PREPARE, "&sslMode=REQUIRED", "&sslMode=DISABLED",
      "&useCursorFetch=true&defaultFetchSize=1"})
  void readsEveryType(String more) throws SQLException {
    try (Connection connection = connect(more);
        PreparedStatement statement = connection.prepareStatement("SELECT * FROM item WHERE id = ?")) {
      for (int round = 0; round < 2; round++) {
        statement.setInt(1, 1);
        try (ResultSet row = statement.executeQuery()) {
          assertTrue(row.next());
          assertEquals("Grüße 😀", row.getString("name"));
          assertEquals(new BigDecimal("12.50"), row.getBigDecimal("price"));
          assertEquals(0.25, row.getDouble("weight"));
          assertEquals(LocalDate.of(2024, 2, 29), row.getObject("born", LocalDate.class));
          assertEquals(LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789012000),
              row.getObject("seen", LocalDateTime.class));
          assertEquals(LocalTime.of(12, 30, 1), row.getObject("span", LocalTime.class));
          assertEquals(new BigInteger("18446744073709551615"), row.getObject("big"));
          assertArrayEquals(new byte[] {0, (byte) 0xff}, row.getBytes("raw"));
          assertTrue(row.getBoolean("flag"));
          assertFalse(row.next());
        }
      }
      statement.setInt(1, 2);
      try (ResultSet row = statement.executeQuery()) {
        assertTrue(row.next());
        assertNull(row.getBigDecimal("price"));
        assertNull(row.getObject("seen"));
        assertNull(row.getBytes("raw"));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", SERVER_PREPARE})
  void parametersOfEveryType(String more) throws SQLException {
    try (Connection connection = connect(more);
        PreparedStatement statement = connection.prepareStatement(
            "SELECT count(*) FROM item WHERE name = ? AND price = ? AND weight = ? AND born = ? "
                + "AND seen = ? AND span = ? AND big = ? AND raw = ? AND flag = ? AND ? IS NULL")) {
      statement.setString(1, "Grüße 😀");
      statement.setBigDecimal(2, new BigDecimal("12.50"));
      statement.setDouble(3, 0.25);
      statement.setObject(4, LocalDate.of(2024, 2, 29));
      statement.setObject(5, LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789012000));
      statement.setObject(6, LocalTime.of(12, 30, 1));
      statement.setBigDecimal(7, new BigDecimal("18446744073709551615"));
      statement.setBytes(8, new byte[] {0, (byte) 0xff});
      statement.setBoolean(9, true);
      statement.setNull(10, Types.VARCHAR);
      try (ResultSet row = statement.executeQuery()) {
        assertTrue(row.next());
        assertEquals(1, row.getInt(1));
      }
    }
  }

  @Test
  void aggregatesPrepared() throws SQLException {
    try (Connection connection = connect(SERVER_PREPARE);
        PreparedStatement statement = connection.prepareStatement(
            "SELECT grp, count(*) AS cnt, avg(n) AS mean FROM many WHERE n > ? GROUP BY grp ORDER BY grp")) {
      statement.setInt(1, 0);
      try (ResultSet row = statement.executeQuery()) {
        ResultSetMetaData columns = row.getMetaData();
        assertEquals("grp", columns.getColumnName(1));
        assertEquals("many", columns.getTableName(1));
        assertEquals(Types.BIGINT, columns.getColumnType(2));
        assertEquals(Types.DECIMAL, columns.getColumnType(3));
        assertEquals(4, columns.getScale(3));
        for (int group = 0; group < 10; group++) {
          assertTrue(row.next());
          assertEquals(group, row.getInt(1));
          assertEquals(ROWS / 10, row.getLong(2));
        }
        assertFalse(row.next());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"&useCursorFetch=true&defaultFetchSize=1000", ""})
  void bigResults(String more) throws SQLException {
    try (Connection connection = connect(more); Statement statement = connection.createStatement()) {
      if (more.isEmpty()) {
        statement.setFetchSize(Integer.MIN_VALUE);
      }
      long sum = 0;
      try (ResultSet row = statement.executeQuery("SELECT n, pad FROM many")) {
        while (row.next()) {
          sum += row.getInt(1);
          assertEquals(row.getInt(1) % 100, row.getString(2).length());
        }
      }
      assertEquals((long) ROWS * (ROWS + 1) / 2, sum);
    }
  }

  @Test
  void cursorIsLeftEarly() throws SQLException {
    try (Connection connection = connect("&useCursorFetch=true&defaultFetchSize=10");
        PreparedStatement statement = connection.prepareStatement("SELECT n FROM many ORDER BY n")) {
      for (int round = 0; round < 3; round++) {
        try (ResultSet row = statement.executeQuery()) {
          assertTrue(row.next());
          assertEquals(1, row.getInt(1));
        }
      }
    }
  }

  @Test
  void metadata() throws SQLException {
    try (Connection connection = connect("")) {
      DatabaseMetaData about = connection.getMetaData();
      List<String> tables = new ArrayList<>();
      try (ResultSet row = about.getTables("drivers", null, "%", new String[] {"TABLE"})) {
        while (row.next()) {
          tables.add(row.getString("TABLE_NAME"));
        }
      }
      assertEquals(List.of("item", "many", "scratch"), tables);
      try (ResultSet row = about.getColumns("drivers", null, "item", "price")) {
        assertTrue(row.next());
        assertEquals(Types.DECIMAL, row.getInt("DATA_TYPE"));
        assertEquals(10, row.getInt("COLUMN_SIZE"));
        assertEquals(2, row.getInt("DECIMAL_DIGITS"));
      }
      try (ResultSet row = about.getPrimaryKeys("drivers", null, "item")) {
        assertTrue(row.next());
        assertEquals("id", row.getString("COLUMN_NAME"));
      }
      try (ResultSet row = about.getIndexInfo("drivers", null, "item", true, false)) {
        assertTrue(row.next());
        assertEquals("PRIMARY", row.getString("INDEX_NAME"));
      }
      assertTrue(connection.isValid(10));
    }
  }

  @Test
  void transactionsAndBatches() throws SQLException {
    try (Connection connection = connect("&rewriteBatchedStatements=true")) {
      connection.setAutoCommit(false);
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO scratch VALUES (?, ?)")) {
        for (int id = 0; id < 50; id++) {
          insert.setInt(1, id);
          insert.setString(2, "w" + id);
          insert.addBatch();
        }
        assertEquals(50, insert.executeBatch().length);
      }
      assertEquals(50, count(connection, "scratch"));
      try (Connection other = connect("")) {
        assertEquals(0, count(other, "scratch"));
      }
      connection.rollback();
      assertEquals(0, count(connection, "scratch"));
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      connection.setReadOnly(true);
      assertEquals(0, count(connection, "scratch"));
    }
  }

  private static long count(Connection connection, String table) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT count(*) FROM " + table)) {
      assertTrue(row.next());
      return row.getLong(1);
    }
  }

  @Test
  void severalStatements() throws SQLException {
    try (Connection connection = connect("&allowMultiQueries=true");
        Statement statement = connection.createStatement()) {
      assertTrue(statement.execute("SELECT 1; SELECT 2, 3"));
      assertTrue(statement.getMoreResults());
      try (ResultSet row = statement.getResultSet()) {
        assertTrue(row.next());
        assertEquals(3, row.getInt(2));
      }
      assertFalse(statement.getMoreResults());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", SERVER_PREPARE})
  void errorsHaveNumbersAndKeepTheConnection(String more) throws SQLException {
    try (Connection connection = connect(more)) {
      SQLException error = assertThrows(SQLException.class, () -> {
        try (PreparedStatement statement = connection.prepareStatement("SELECT nope FROM item")) {
          statement.executeQuery();
        }
      });
      assertEquals(1054, error.getErrorCode());
      assertEquals("42S22", error.getSQLState());
      assertEquals(2, count(connection, "item"));
    }
  }

  @Test
  void wrongPassword() {
    SQLException error = assertThrows(SQLException.class, () -> connect("", "wrong").close());
    assertEquals(1045, error.getErrorCode());
  }

  @Test
  void timeOutOfAQuery() throws SQLException {
    try (Connection connection = connect(""); Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      assertThrows(SQLException.class, () -> statement.executeQuery(
          "SELECT count(*) FROM many a, many b WHERE SHA2(CONCAT(a.n, b.pad), 512) <> 'x'"));
      assertEquals(2, count(connection, "item"));
    }
  }
}
