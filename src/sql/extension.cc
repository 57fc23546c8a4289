#include "sql/extension.h"

#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/parser/parsed_data/attach_info.hpp"
#include "duckdb/storage/buffer_manager.hpp"
#include "duckdb/storage/storage_extension.hpp"

#include "sql/catalog.h"
#include "sql/database_options.h"
#include "sql/errors.h"
#include "sql/functions.h"
#include "sql/scan.h"
#include "sql/transaction.h"

namespace petalite::sql {
namespace {

template <typename T>
T OptionOr(const duckdb::unordered_map<duckdb::string, duckdb::Value>& options, const char* name, T otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second.GetValue<T>();
}

// DuckDB's buffer manager, so that its limit covers the store too.
class DuckDbMemory : public store::MemorySource {
 public:
  explicit DuckDbMemory(duckdb::BufferManager& manager) : manager_(manager) {}

  // DuckDB evicts what it can before it refuses, by an exception.
  bool Reserve(size_t bytes) override {
    try {
      manager_.ReserveMemory(bytes);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  void Release(size_t bytes) override { manager_.FreeReservedMemory(bytes); }

 private:
  duckdb::BufferManager& manager_;
};

duckdb::unique_ptr<duckdb::Catalog> Attach(duckdb::optional_ptr<duckdb::StorageExtensionInfo> info,
                                           duckdb::ClientContext& context, duckdb::AttachedDatabase& attached,
                                           const duckdb::string& name, duckdb::AttachInfo& attach,
                                           duckdb::AttachOptions& options) {
  store::DatabaseOptions opened;
  for (const auto& [option, value] : options.options) {
    if (option == "wait" || option == "must_exist") continue;
    ThrowIfError(SetDatabaseOption(option, value.ToString(), &opened).WithContext("ATTACH"));
  }
  opened.read_only = options.access_mode == duckdb::AccessMode::READ_ONLY;
  opened.create = !opened.read_only && !OptionOr<bool>(options.options, "must_exist", false);
  opened.wait_seconds = OptionOr<double>(options.options, "wait", 0);
  auto& manager = duckdb::BufferManager::GetBufferManager(attached.GetDatabase());
  if (opened.memory_limit == 0) opened.memory_limit = std::min(store::AvailableMemory(), manager.GetMaxMemory());
  opened.memory_source = std::make_shared<DuckDbMemory>(manager);
  return duckdb::make_uniq<PetaliteCatalog>(attached, Must(store::Database::Open(attach.path, opened)));
}

duckdb::unique_ptr<duckdb::TransactionManager> CreateTransactionManager(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo> info, duckdb::AttachedDatabase& attached,
    duckdb::Catalog& catalog) {
  return duckdb::make_uniq<PetaliteTransactionManager>(attached, catalog.Cast<PetaliteCatalog>());
}

}  // namespace

void Register(duckdb::DatabaseInstance& instance) {
  auto& config = duckdb::DBConfig::GetConfig(instance);
  auto extension = duckdb::make_shared_ptr<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = CreateTransactionManager;
  duckdb::StorageExtension::Register(config, "petalite", std::move(extension));
  config.AddExtensionOption(kFilterPruningSetting, "Consult column filters when a scan prunes",
                            duckdb::LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(true));
  RegisterFunctions(instance);
}

void ConfigureEmbedded(duckdb::DBConfig* config) {
  config->SetOptionByName("autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
  config->SetOptionByName("autoload_known_extensions", duckdb::Value::BOOLEAN(false));
}

}  // namespace petalite::sql
