// Where the programs of this folder log in, and how they show what they found: a line for each step.
package pelorus;

import java.util.Map;

final class Show {
  private Show() {}

  static String env(String name) {
    return System.getenv("PELORUS_" + name);
  }

  static boolean isMariaDb() {
    return env("KIND").equals("mariadb");
  }

  // The URL of the driver that belongs to a server of this kind.
  static String url(String more) {
    String scheme = isMariaDb() ? "mariadb" : "mysql";
    String keys = isMariaDb() ? "" : "&allowPublicKeyRetrieval=true&connectionTimeZone=UTC";
    return "jdbc:" + scheme + "://" + env("HOST") + ":" + env("PORT") + "/" + env("DATABASE")
        + "?connectTimeout=60000" + keys + more;
  }

  static void show(String what, Object found) {
    System.out.println(what + ": " + text(found));
  }

  private static String text(Object found) {
    if (found instanceof Object[] all) {
      return text(java.util.Arrays.asList(all));
    }
    if (found instanceof Iterable<?> all) {
      StringBuilder out = new StringBuilder("[");
      for (Object one : all) {
        out.append(out.length() > 1 ? ", " : "").append(text(one));
      }
      return out.append("]").toString();
    }
    if (found instanceof Map<?, ?> all) {
      return all.isEmpty() ? "{}" : new java.util.TreeMap<>(all).toString();
    }
    if (found instanceof byte[] bytes) {
      return java.util.HexFormat.of().formatHex(bytes);
    }
    return String.valueOf(found);
  }
}
