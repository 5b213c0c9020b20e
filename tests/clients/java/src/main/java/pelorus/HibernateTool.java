// Hibernate: makes its schema, validates and updates it, entities, HQL and criteria queries, locks.
package pelorus;

import static pelorus.Show.show;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Lob;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.Tuple;
import jakarta.persistence.Version;
import jakarta.persistence.criteria.CriteriaBuilder;
import jakarta.persistence.criteria.CriteriaQuery;
import jakarta.persistence.criteria.JoinType;
import jakarta.persistence.criteria.Root;
import jakarta.persistence.criteria.Subquery;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.Formula;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;

public final class HibernateTool {
  private HibernateTool() {}

  enum Kind { PRIVATE, COMPANY }

  @Embeddable
  public static class Address {
    String city;
    @Column(length = 10) String zip;
  }

  @Entity(name = "Customer")
  @Table(name = "customer", indexes = @Index(name = "by_name", columnList = "name"))
  public static class Customer {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Version int version;
    @Column(length = 60, nullable = false) String name;
    @Column(unique = true) String email;
    @Enumerated(EnumType.STRING) Kind kind = Kind.PRIVATE;
    boolean active = true;
    LocalDate born;
    @Embedded Address address;
    @ElementCollection @OrderBy Set<String> words = new TreeSet<>();
    @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL) @OrderBy("id")
    List<Invoice> invoices = new ArrayList<>();
    @Formula("(select count(*) from invoice i where i.customer_id = id)") Long count;
  }

  @Entity(name = "Invoice")
  @Table(name = "invoice")
  public static class Invoice {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    @ManyToOne(fetch = FetchType.LAZY, optional = false) Customer customer;
    @Column(precision = 12, scale = 2) BigDecimal amount;
    double weight;
    Float factor;
    Short pages;
    LocalDateTime made;
    Instant seen;
    LocalTime at;
    Duration span;
    UUID mark;
    @Column(length = 16) byte[] raw;
    @Lob String note;
    @ManyToMany Set<Label> labels = new java.util.HashSet<>();
  }

  @Entity(name = "Label")
  @Table(name = "label")
  public static class Label {
    @Id @Column(length = 20) String word;

    Label() {}

    Label(String word) {
      this.word = word;
    }
  }

  private static SessionFactory factory(String schema) {
    return new Configuration()
        .setProperty("hibernate.connection.url", Show.url("&rewriteBatchedStatements=true"))
        .setProperty("hibernate.connection.username", Show.env("USER"))
        .setProperty("hibernate.connection.password", Show.env("PASSWORD"))
        .setProperty("hibernate.hbm2ddl.auto", schema)
        .setProperty("hibernate.jdbc.batch_size", "50")
        .setProperty("hibernate.jdbc.time_zone", "UTC")
        .setProperty("hibernate.order_inserts", "true")
        .addAnnotatedClass(Customer.class).addAnnotatedClass(Invoice.class).addAnnotatedClass(Label.class)
        .buildSessionFactory();
  }

  private static void write(SessionFactory sessions) {
    sessions.inTransaction(session -> {
      Customer ada = new Customer();
      ada.name = "Ada";
      ada.email = "ada@example.com";
      ada.born = LocalDate.of(1815, 12, 10);
      ada.address = new Address();
      ada.address.city = "London";
      ada.words.addAll(List.of("one", "two"));
      Customer other = new Customer();
      other.name = "Grüße 😀";
      other.kind = Kind.COMPANY;
      other.active = false;
      Customer none = new Customer();
      none.name = "none";
      Label red = new Label("red");
      for (Object one : new Object[] {ada, other, none, red, new Label("old")}) {
        session.persist(one);
      }
      for (int at = 0; at < 120; at++) {
        Invoice invoice = new Invoice();
        invoice.customer = at % 2 == 0 ? ada : other;
        invoice.amount = BigDecimal.valueOf((at * 137) % 1000 * 25L, 2);
        invoice.weight = at / 8.0;
        invoice.factor = at * 0.5f;
        invoice.pages = (short) at;
        invoice.made = LocalDateTime.of(2026, 1, 2, 3, 4, 5, 678_901_000).plusHours(25L * at);
        invoice.seen = Instant.parse("2026-01-02T03:04:05.678901Z").plusSeconds(3600L * at);
        invoice.at = LocalTime.of(at % 24, 30);
        invoice.span = Duration.ofMinutes(at);
        invoice.mark = new UUID(1, at);
        invoice.raw = new byte[] {(byte) at, 0, -1};
        invoice.note = at % 3 == 0 ? "note " + at : null;
        if (at % 40 == 0) {
          invoice.labels.add(red);
        }
        session.persist(invoice);
      }
    });
    try {
      sessions.inTransaction(session -> {
        Customer again = new Customer();
        again.name = "again";
        again.email = "ada@example.com";
        session.persist(again);
      });
    } catch (ConstraintViolationException error) {
      show("a duplicate", error.getErrorCode());
    }
    sessions.inTransaction(session -> {
      Customer ada = session.find(Customer.class, 1L, LockModeType.PESSIMISTIC_WRITE);
      ada.name = "Ada L";
      ada.words.remove("one");
      show("updated", session.createMutationQuery(
          "update Invoice set weight = weight + 1, note = concat('n', id) where amount < :least")
          .setParameter("least", BigDecimal.TEN).executeUpdate());
      show("deleted", session.createMutationQuery("delete Invoice where pages > 117 and pages < 119").executeUpdate());
      show("inserted", session.createMutationQuery(
          "insert into Label (word) select concat('of ', c.id) from Customer c where c.active").executeUpdate());
    });
    try (Session first = sessions.openSession(); Session second = sessions.openSession()) {
      Customer mine = first.find(Customer.class, 1L);
      Customer theirs = second.find(Customer.class, 1L);
      first.beginTransaction();
      mine.address.zip = "12345";
      first.getTransaction().commit();
      second.beginTransaction();
      theirs.address.zip = "54321";
      second.getTransaction().commit();
      show("lost", "no error");
    } catch (OptimisticLockException error) {
      show("not lost", error.getClass().getSimpleName());
    }
    try {
      sessions.inTransaction(session -> {
        session.createMutationQuery("delete Label where word = 'old'").executeUpdate();
        throw new IllegalStateException("back");
      });
    } catch (IllegalStateException error) {
      show("rolled back", error.getMessage());
    }
    sessions.inTransaction(session -> show("held", session.createQuery("from Invoice where id < 4 order by id",
        Invoice.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).setHint("jakarta.persistence.lock.timeout", -2)
        .list().size()));
    show("versions", sessions.fromSession(session -> session.find(Customer.class, 1L).version));
  }

  private static void ask(Session session, String what, String query) {
    show(what, session.createSelectionQuery(query, Object[].class).setMaxResults(12).list());
  }

  private static void read(Session session) {
    for (Customer one : session.createQuery("from Customer c left join fetch c.words order by c.id", Customer.class)
        .list()) {
      show("customer", new Object[] {one.id, one.name, one.email, one.kind, one.active, one.born, one.count, one.words,
          one.address == null ? null : one.address.city});
    }
    Invoice seventh = session.find(Invoice.class, 7L);
    show("invoice", new Object[] {seventh.amount, seventh.weight, seventh.factor, seventh.pages, seventh.made,
        seventh.seen, seventh.at, seventh.span, seventh.mark, seventh.raw, seventh.note, seventh.customer.name});
    show("lazy", session.find(Customer.class, 2L).invoices.size());
    ask(session, "groups", "select c.name, count(i), sum(i.amount), avg(i.weight), max(i.made) from Invoice i "
        + "join i.customer c group by c.name having count(i) > 1 order by c.name");
    ask(session, "exists", "select c.id, c.name from Customer c where exists (select 1 from Invoice i "
        + "where i.customer = c and i.amount > 240) order by c.id");
    ask(session, "not in", "select c.id, c.name from Customer c where c.id not in (select i.customer.id from Invoice i)");
    ask(session, "windows", "select i.id, rank() over (partition by i.customer.id order by i.amount), "
        + "sum(i.pages) over (order by i.id) from Invoice i where i.pages < 20 order by i.id");
    ask(session, "dates", "select year(i.made), month(i.made), count(*) from Invoice i "
        + "group by year(i.made), month(i.made) order by 1, 2");
    ask(session, "trunc", "select extract(date from i.made), extract(hour from i.made), trunc(i.made, hour), "
        + "i.made + 3 day, extract(week from i.made) from Invoice i order by i.id");
    ask(session, "texts", "select upper(c.name), length(c.name), substring(c.name, 2, 3), locate('a', c.name), "
        + "coalesce(c.email, 'none'), trim(c.name), left(c.name, 2), replace(c.name, 'a', 'b'), "
        + "cast(c.id as String), concat(c.name, '/', c.id) from Customer c order by c.id");
    ask(session, "numbers", "select i.id, mod(i.id, 7), abs(i.weight - 5), floor(i.weight), round(i.amount, 1), "
        + "sqrt(i.pages), power(i.pages, 2), sign(i.pages - 3) from Invoice i order by i.id");
    ask(session, "case", "select case when i.pages < 40 then 'small' when i.pages < 80 then 'middle' else 'large' end, "
        + "count(*) from Invoice i group by 1 order by 1");
    ask(session, "labels", "select i.id, l.word from Invoice i join i.labels l where l.word like 'r%' order by i.id");
    ask(session, "members", "select c.id, size(c.words) from Customer c where 'two' member of c.words");
    ask(session, "common table", "with spent as (select i.customer.id as who, sum(i.amount) as total from Invoice i "
        + "group by i.customer.id) select c.name, s.total from spent s join Customer c on c.id = s.who order by s.total");
    ask(session, "derived", "select s.who, s.most from (select i.customer.id as who, max(i.amount) as most "
        + "from Invoice i group by i.customer.id) s order by s.who");
    ask(session, "set operations", "select c.name, 1 from Customer c union all select l.word, 2 from Label l order by 2, 1");
    ask(session, "listagg", "select c.name, listagg(cast(i.pages as String), ',') within group (order by i.pages) "
        + "from Invoice i join i.customer c where i.pages < 9 group by c.name order by c.name");
    ask(session, "filtered", "select count(i) filter (where i.pages > 50), count(distinct i.customer.id) from Invoice i "
        + "group by i.customer.active order by i.customer.active");
    show("page", session.createQuery("select id from Invoice order by made desc, id", Long.class)
        .setFirstResult(5).setMaxResults(4).list());
    show("tuples", session.createQuery("select count(*) from Invoice i where (i.customer.id, i.pages) in ((1, 2), (2, 3))",
        Long.class).list());
    show("native", session.createNativeQuery("SELECT i.id, i.made, i.amount FROM invoice i WHERE i.pages > :least "
        + "ORDER BY i.id LIMIT 2", Tuple.class).setParameter("least", 50).list().stream()
        .map(Tuple::toArray).toList());
    criteria(session);
  }

  private static void criteria(Session session) {
    CriteriaBuilder builder = session.getCriteriaBuilder();
    CriteriaQuery<Object[]> query = builder.createQuery(Object[].class);
    Root<Invoice> invoice = query.from(Invoice.class);
    var customer = invoice.<Invoice, Customer>join("customer", JoinType.LEFT);
    Subquery<Double> mean = query.subquery(Double.class);
    Root<Invoice> all = mean.from(Invoice.class);
    mean.select(builder.avg(all.<BigDecimal>get("amount")));
    query.multiselect(customer.get("name"), builder.count(invoice), builder.max(invoice.<BigDecimal>get("amount")))
        .where(builder.and(builder.greaterThan(invoice.<BigDecimal>get("amount").as(Double.class), mean),
            builder.or(builder.isNull(invoice.get("note")), builder.like(invoice.get("note"), "%1%")),
            builder.between(invoice.<Short>get("pages"), (short) 5, (short) 90)))
        .groupBy(customer.get("name")).orderBy(builder.desc(builder.count(invoice)), builder.asc(customer.get("name")));
    show("criteria", session.createQuery(query).list());
    CriteriaQuery<Customer> customers = builder.createQuery(Customer.class);
    Root<Customer> root = customers.from(Customer.class);
    customers.where(root.get("kind").in(Kind.PRIVATE, Kind.COMPANY), builder.isTrue(root.get("active")))
        .orderBy(builder.asc(root.get("id")));
    show("criteria of entities", session.createQuery(customers).list().stream().map(one -> one.name).toList());
  }

  public static void main(String[] args) {
    java.util.logging.LogManager.getLogManager().reset();
    if (args[0].equals("write")) {
      factory("create").close();
      factory("validate").close();
      try (SessionFactory sessions = factory("update")) {
        write(sessions);
      }
    }
    try (SessionFactory sessions = factory("validate")) {
      // Outside of a transaction, in autocommit, where mirrors may answer.
      try (Session session = sessions.openSession()) {
        read(session);
      }
    }
  }
}
