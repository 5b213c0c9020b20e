// Flyway: info, migrate, validate, repair, baseline and clean, and two that migrate at once.
package pelorus;

import static pelorus.Show.show;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.core.api.output.MigrateResult;

public final class FlywayTool {
  private FlywayTool() {}

  private static FluentConfiguration configured(String more) {
    return Flyway.configure()
        .dataSource(Show.url(more), Show.env("USER"), Show.env("PASSWORD"))
        .locations("classpath:migrations")
        .connectRetries(0);
  }

  private static void info(String what, Flyway flyway) {
    MigrationInfo[] all = flyway.info().all();
    show(what, Arrays.stream(all).map(one -> one.getVersion() + " " + one.getDescription() + " " + one.getState())
        .toList());
  }

  private static void migrates(String more, String table) throws Exception {
    Flyway flyway = configured(more).table(table).target("2").load();
    info("info before", flyway);
    show("migrated", flyway.migrate().migrationsExecuted);
    Flyway full = configured(more).table(table).load();
    info("info between", full);
    // Two programs that start at once: one migrates while the other waits for its lock.
    ExecutorService both = Executors.newFixedThreadPool(2);
    Callable<MigrateResult> migrate = () -> configured(more).table(table).load().migrate();
    int executed = 0;
    for (Future<MigrateResult> one : both.invokeAll(List.of(migrate, migrate))) {
      executed += one.get().migrationsExecuted;
    }
    both.shutdown();
    show("migrated by two", executed);
    info("info after", full);
    full.validate();
    show("repaired", full.repair().repairActions);
    show("migrated again", full.migrate().migrationsExecuted);
    try {
      configured(more).table(table).locations("classpath:migrations", "classpath:broken").load().migrate();
      show("broken", "no error");
    } catch (FlywayException error) {
      show("broken", error.getMessage().lines().filter(line -> line.matches("(SQL State|Error Code) .*")).toList());
    }
  }

  public static void main(String[] args) throws Exception {
    if (!args[0].equals("write")) {
      // Flyway has nothing that only reads but this.
      info("info", configured("").table("history_").load());
      return;
    }
    migrates("", "history_");
    Flyway flyway = configured("").table("history_").cleanDisabled(false).load();
    flyway.clean();
    info("info of nothing", flyway);
    migrates("&useServerPrepStmts=true", "history_");
    Flyway later = configured("").table("later_").baselineOnMigrate(true).baselineVersion("3").load();
    show("baseline", later.migrate().migrationsExecuted);
    info("info of a baseline", later);
  }
}
