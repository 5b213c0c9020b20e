<?php

// The tables of laravel.php.

use Illuminate\Database\Capsule\Manager as Capsule;
use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;

class CreateTables extends Migration
{
    public function up()
    {
        $schema = Capsule::schema();
        $schema->create('customers', function (Blueprint $table) {
            $table->id();
            $table->string('name', 60)->index();
            $table->string('email')->nullable()->unique();
            $table->boolean('active')->default(true);
            $table->enum('kind', ['private', 'company'])->default('private');
            $table->json('settings')->nullable();
        });
        $schema->create('orders', function (Blueprint $table) {
            $table->id();
            $table->foreignId('customer_id')->constrained()->onDelete('cascade');
            $table->decimal('amount', 10, 2)->comment('in euros');
            $table->double('weight');
            $table->dateTime('made')->nullable();
            $table->text('note')->nullable();
            $table->softDeletes();
            $table->index(['made', 'customer_id'], 'by_made');
        });
        $schema->create('labels', function (Blueprint $table) {
            $table->id();
            $table->string('word', 20)->unique();
        });
        $schema->create('customer_label', function (Blueprint $table) {
            $table->foreignId('customer_id')->constrained();
            $table->foreignId('label_id')->constrained();
            $table->primary(['customer_id', 'label_id']);
        });
    }

    public function down()
    {
        foreach (['customer_label', 'labels', 'orders', 'customers'] as $table) {
            Capsule::schema()->dropIfExists($table);
        }
    }
}
