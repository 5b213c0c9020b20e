<?php

// Laravel's database layer: its schema builder and what that reads, migrations with their lock, Eloquent,
// transactions. Prints a line of JSON for each step.

declare(strict_types=1);

error_reporting(E_ALL & ~E_DEPRECATED);
require '/usr/share/php/Illuminate/Database/autoload.php';
require '/usr/share/php/Illuminate/Events/autoload.php';
require '/usr/share/php/Illuminate/Filesystem/autoload.php';

use Illuminate\Database\Capsule\Manager as Capsule;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\SoftDeletes;
use Illuminate\Database\Migrations\DatabaseMigrationRepository;
use Illuminate\Database\Migrations\Migrator;
use Illuminate\Database\QueryException;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Events\Dispatcher;
use Illuminate\Filesystem\Filesystem;

function show(string $what, mixed $found): void
{
    echo $what, ': ', json_encode($found, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), "\n";
}

function refused(string $what, callable $work): void
{
    try {
        $work();
        show($what, 'no error');
    } catch (QueryException $error) {
        show($what, [$error->errorInfo[0], $error->errorInfo[1]]);
    }
}

class Customer extends Model
{
    protected $guarded = [];
    protected $casts = ['active' => 'boolean', 'settings' => 'array'];
    public $timestamps = false;

    public function orders()
    {
        return $this->hasMany(Order::class);
    }

    public function labels()
    {
        return $this->belongsToMany(Label::class);
    }
}

class Order extends Model
{
    use SoftDeletes;

    protected $guarded = [];
    public $timestamps = false;

    public function customer()
    {
        return $this->belongsTo(Customer::class);
    }
}

class Label extends Model
{
    protected $guarded = [];
    public $timestamps = false;
}

$capsule = new Capsule();
$capsule->addConnection([
    'driver' => 'mysql', 'host' => getenv('PELORUS_HOST'), 'port' => getenv('PELORUS_PORT'),
    'database' => getenv('PELORUS_DATABASE'), 'username' => getenv('PELORUS_USER'),
    'password' => getenv('PELORUS_PASSWORD'), 'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci',
    'strict' => true, 'timezone' => '+00:00',
]);
$capsule->setEventDispatcher(new Dispatcher());
$capsule->setAsGlobal();
$capsule->bootEloquent();
$db = $capsule->getConnection();

function migrated(Capsule $capsule): void
{
    $repository = new DatabaseMigrationRepository($capsule->getDatabaseManager(), 'migrations');
    show('there is a repository', $repository->repositoryExists());
    $repository->createRepository();
    $migrator = new Migrator($repository, $capsule->getDatabaseManager(), new Filesystem(), new Dispatcher());
    $shown = fn (array $files): array => array_map(fn ($file) => basename($file), array_values($files));
    $folder = __DIR__ . '/migrations';
    show('migrated', $shown($migrator->run([$folder])));
    show('migrated again', $shown($migrator->run([$folder])));
    show('rolled back', $shown($migrator->rollback([$folder])));
    show('migrated once more', $shown($migrator->run([$folder])));
    show('ran', $repository->getRan());
}

function schema(Capsule $capsule): void
{
    // Laravel's lock around migrations.
    show('lock', $capsule->getConnection()->select("SELECT GET_LOCK('laravel', 5) AS held"));
    migrated($capsule);
    $schema = $capsule->getConnection()->getSchemaBuilder();
    show('has', [$schema->hasTable('customers'), $schema->hasTable('nothing'),
        $schema->hasColumn('orders', 'amount'), $schema->hasColumns('orders', ['amount', 'nothing'])]);
    $columns = $schema->getColumnListing('orders');
    sort($columns);
    show('columns', $columns);
    show('tables', array_map(fn ($row) => array_values((array) $row), $schema->getAllTables()));
    $schema->table('orders', function (Blueprint $table) {
        $table->string('more', 10)->nullable()->after('amount');
        $table->index('more');
    });
    $schema->table('orders', function (Blueprint $table) {
        $table->dropIndex(['more']);
        $table->dropColumn('more');
    });
    $schema->create('other', fn (Blueprint $table) => $table->id());
    $schema->rename('other', 'another');
    $schema->disableForeignKeyConstraints();
    $schema->drop('another');
    $schema->enableForeignKeyConstraints();
    show('unlock', $capsule->getConnection()->select("SELECT RELEASE_LOCK('laravel') AS released"));
}

function write($db): void
{
    $ada = Customer::create(['name' => 'Ada', 'email' => 'ada@example.com', 'settings' => ['b' => 'x']]);
    Customer::create(['name' => 'Grüße 😀', 'active' => false]);
    Customer::create(['name' => 'none']);
    show('key', $ada->id);
    foreach (array_chunk(range(0, 119), 50) as $part) {
        Order::insert(array_map(fn ($at) => ['customer_id' => 1 + $at % 2, 'amount' => ($at * 137) % 1000 / 4,
            'weight' => $at / 8, 'made' => date('Y-m-d H:i:s', 1767323045 + 3600 * 25 * $at),
            'note' => $at % 3 ? null : "note $at"], $part));
    }
    $ada->labels()->attach([Label::create(['word' => 'old'])->id, Label::create(['word' => 'red'])->id]);
    $ada->labels()->sync([2]);
    refused('a duplicate', fn () => Customer::create(['name' => 'x', 'email' => 'ada@example.com']));
    refused('no parent', fn () => Order::create(['customer_id' => 99, 'amount' => 1, 'weight' => 1]));
    show('ignored', Customer::insertOrIgnore(['name' => 'x', 'email' => 'ada@example.com']));
    show('upserted', Customer::upsert([['name' => 'Ada L', 'email' => 'ada@example.com']], ['email'], ['name']));
    show('first or created', [Customer::firstOrCreate(['name' => 'found'])->wasRecentlyCreated,
        Customer::firstOrCreate(['name' => 'found'])->wasRecentlyCreated]);
    Customer::updateOrCreate(['name' => 'found'], ['email' => 'f@example.com']);
    show('updated', Order::where('amount', '<', 20)->update(['note' => $db->raw("CONCAT('n', id)")]));
    show('incremented', Order::where('id', 3)->increment('weight', 2.5));
    show('deleted', [Order::where('id', '>', 118)->delete(), Order::where('id', 117)->forceDelete()]);
    $db->transaction(function ($db) {
        Customer::create(['name' => 'in a transaction']);
        try {
            $db->transaction(function () {
                Customer::create(['name' => 'in a savepoint']);
                throw new RuntimeException('back');
            });
        } catch (RuntimeException $error) {
            show('inner', $error->getMessage());
        }
        show('held', [Order::where('id', '<', 3)->lockForUpdate()->count(), Order::sharedLock()->find(5)->id]);
    });
    try {
        $db->transaction(function () {
            Order::query()->forceDelete();
            throw new RuntimeException('all back');
        });
    } catch (RuntimeException $error) {
        show('outer', $error->getMessage());
    }
}

function read($db): void
{
    show('customers', Customer::with(['labels', 'orders' => fn ($q) => $q->where('amount', '>', 230)->orderBy('id')])
        ->withCount('orders')->withSum('orders', 'amount')->orderBy('id')->get());
    show('one', Order::with('customer')->find(7));
    show('page', Order::orderByDesc('made')->orderBy('id')->forPage(2, 4)->pluck('id'));
    $page = Order::orderBy('id')->where('weight', '>', 3)->paginate(5, ['id'], 'page', 2);
    show('paginated', [$page->total(), $page->lastPage(), $page->pluck('id')]);
    show('numbers', [Order::count(), Order::sum('amount'), Order::avg('weight'), Order::max('made'),
        Order::distinct()->count('customer_id'), Order::withTrashed()->count(), Order::onlyTrashed()->count()]);
    show('groups', Order::selectRaw('customer_id, COUNT(*) AS n, SUM(amount) AS total')->groupBy('customer_id')
        ->havingRaw('COUNT(*) > ?', [2])->orderByDesc('total')->get());
    show('has', Customer::whereHas('orders', fn ($q) => $q->where('amount', '>', 240))->orderBy('id')->pluck('name'));
    show('has not', Customer::doesntHave('orders')->orderBy('id')->pluck('name'));
    show('has many', Customer::has('orders', '>=', 59)->orderBy('id')->pluck('name'));
    show('dates', [Order::whereDate('made', '2026-01-05')->count(), Order::whereYear('made', 2026)->count(),
        Order::whereMonth('made', '02')->count(), Order::whereTime('made', '<', '12:00:00')->count()]);
    show('in', Order::whereIn('id', [1, 5, 9])->whereNotNull('note')->orWhereBetween('weight', [14, 14.3])
        ->orderBy('id')->pluck('note', 'id'));
    show('subquery', Customer::addSelect(['last' => Order::select('made')->whereColumn('customer_id', 'customers.id')
        ->orderByDesc('made')->limit(1)])->orderBy('id')->get()->map(fn ($one) => $one->last));
    show('joined', $db->table('orders')->join('customers', 'customers.id', '=', 'orders.customer_id')
        ->leftJoinSub(Label::select('id AS label_id', 'word'), 'l', 'l.label_id', '=', 'customers.id')
        ->orderBy('orders.id')->limit(4)->get(['orders.id', 'customers.name', 'l.word']));
    show('union', $db->table('labels')->select('word')->unionAll($db->table('customers')->select('name'))
        ->orderBy('word')->pluck('word'));
    show('exists', [Order::where('id', 4)->exists(), Order::where('id', 4444)->doesntExist()]);
    $sum = 0;
    Order::orderBy('id')->chunk(50, function ($orders) use (&$sum) {
        $sum += $orders->sum('id');
    });
    foreach (Order::lazyById(40) as $order) {
        $sum += $order->id;
    }
    show('chunks', $sum);
    show('settings', Customer::where('settings->b', 'x')->pluck('id'));
    show('in a random order', Customer::inRandomOrder()->count());
}

if ($argv[1] === 'write') {
    schema($capsule);
    write($db);
}
read($db);
