#include "store/commit_changes.h"

#include <algorithm>
#include <mutex>

#include "base/hash.h"
#include "column/key_encoding.h"
#include "store/commit_log.h"
#include "store/key_resolver.h"
#include "store/maintenance.h"
#include "store/snapshots.h"

namespace petalite::store {
namespace {

// The tablets that a set touches, each once, in the order in which latches are taken.
std::vector<Tablet*> TabletsOf(const CommitSet& set) {
  std::vector<Tablet*> tablets;
  const auto add_all = [&](const Table& table) {
    for (const auto& tablet : table.tablets()) tablets.push_back(tablet.get());
  };
  for (const TableWriter* writer : set.writers) {
    const auto more = writer->tablets();
    tablets.insert(tablets.end(), more.begin(), more.end());
  }
  for (const auto& adopted : set.adopted) add_all(*adopted.table);
  if (!set.changes.empty()) {
    const auto before = set.before->TablesById();
    const auto after = set.after->TablesById();
    for (const CatalogChange& change : set.changes) {
      const auto old_table = before.find(change.table);
      const auto new_table = after.find(change.table);
      if (old_table != before.end()) add_all(*old_table->second);
      if (new_table != after.end()) add_all(*new_table->second);
    }
  }
  std::sort(tablets.begin(), tablets.end(), [](const Tablet* a, const Tablet* b) {
    return std::pair(a->table(), a->index()) < std::pair(b->table(), b->index());
  });
  tablets.erase(std::unique(tablets.begin(), tablets.end()), tablets.end());
  return tablets;
}

// Definitions are what writers compare themselves with. Those of new tables, which nobody else knows yet, come before
// their first rows are resolved; changes of others only when they are logged.
void Define(const CommitSet& set, bool new_ones) {
  if (set.changes.empty()) return;
  const auto before = set.before->TablesById();
  const auto after = set.after->TablesById();
  for (const CatalogChange& change : set.changes) {
    const auto old_table = before.find(change.table);
    const auto new_table = after.find(change.table);
    if (new_table != after.end()) {
      if (new_ones != (old_table == before.end())) continue;
      for (const auto& tablet : new_table->second->tablets()) tablet->SetDefinition(new_table->second.get());
    } else if (old_table != before.end() && !new_ones) {
      for (const auto& tablet : old_table->second->tablets()) {
        tablet->SetDefinition(nullptr);
        tablet->MarkDropped();
      }
    }
  }
}

// A rowset's keys were compared with the snapshot: has a later commit touched one of them?
Status CheckUntouched(const Table& table, const Tablet& tablet, const Rowset& rowset, uint64_t snapshot) {
  const auto state = tablet.state();
  const KeyResolver resolver(tablet.context(), *state, kNewestCommit);
  ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset.file());
  for (uint32_t group = 0; group < file->row_groups(); ++group) {
    ASSIGN_OR_RETURN(const auto pages, rowset.Pages(group, rowset.key()[0]));
    for (uint32_t page = 0; page < pages->locations.size(); ++page) {
      ASSIGN_OR_RETURN(const auto encoded, rowset.KeyPage(group, page));
      std::vector<std::string_view> keys;
      std::vector<uint64_t> hashes;
      for (size_t i = 0; i < encoded->size(); ++i) {
        keys.push_back((*encoded)[i]);
        hashes.push_back(Xxh64(keys.back()));
      }
      ASSIGN_OR_RETURN(const auto touched, resolver.FirstTouchedSince(snapshot, keys, hashes));
      if (!touched.has_value()) continue;
      const auto types = table.KeyTypes();
      ASSIGN_OR_RETURN(const auto values, DecodeKey(types, keys[*touched]));
      return Busy("table '{}': conflict: another transaction changed key {} meanwhile; try again",
                  table.name().ToString(), FormatKey(types, values));
    }
  }
  return Status::Ok();
}

Status Resolve(CommitSet& set) {
  for (TableWriter* writer : set.writers) RETURN_IF_ERROR(writer->Resolve(set.snapshot));
  for (const auto& adopted : set.adopted) {
    const Table& table = *adopted.table;
    const Tablet& tablet = *table.tablets()[adopted.rowset->info().tablet];
    if (tablet.definition() == nullptr || tablet.definition()->schema() != table.schema()) {
      return Busy("conflict: another transaction changed the definition of table '{}' meanwhile; try again",
                  table.name().ToString());
    }
    if (!table.is_keyed() || !set.snapshot.has_value() || tablet.last_commit() <= *set.snapshot) continue;
    RETURN_IF_ERROR(CheckUntouched(table, tablet, *adopted.rowset, *set.snapshot));
  }
  return Status::Ok();
}

void Adopt(const CommitSet& set, uint64_t commit) {
  for (const auto& adopted : set.adopted) {
    Tablet& tablet = *adopted.table->tablets()[adopted.rowset->info().tablet];
    // The log has the file. Before anybody can see the rowset: who compacts it makes it obsolete once more.
    adopted.rowset->MarkObsolete(false);
    adopted.rowset->SetCommit(commit);
    if (adopted.rowset->deletes().count() != 0) {
      auto deaths = adopted.rowset->deletes().Since(0);
      for (Death& death : deaths) death.commit = commit;
      auto log = std::make_unique<DeleteLog>();
      log->Append(deaths);
      adopted.rowset->SetDeletes(std::move(log));
    }
    const auto state = tablet.state();
    auto rowsets = state->rowsets();
    rowsets.push_back(adopted.rowset);
    tablet.SetState(std::make_shared<TabletState>(std::move(rowsets), state->mem_rowsets()));
    tablet.SetLastCommit(commit);
  }
}

CommitMeta MetaOf(const CommitSet& set) {
  CommitMeta meta{.catalog = set.changes, .rowsets = {}};
  for (const auto& adopted : set.adopted) {
    AddedRowset added{adopted.table->id(), adopted.rowset->info(), {}};
    for (const Death& death : adopted.rowset->deletes().Since(0)) added.dead.push_back(death.position);
    meta.rowsets.push_back(std::move(added));
  }
  return meta;
}

}  // namespace

Result<uint64_t> CommitChanges(StoreContext& context, CommitSet& set) {
  const std::vector<Tablet*> tablets = TabletsOf(set);
  std::vector<std::unique_lock<std::mutex>> latches;
  for (Tablet* tablet : tablets) latches.emplace_back(tablet->latch());
  Define(set, true);
  // An answer that changes nothing may rest on commits that nobody sees yet, and nobody will if the log fails.
  const auto wait_for_pending = [&] {
    uint64_t newest = 0;
    for (const Tablet* tablet : tablets) newest = std::max(newest, tablet->last_commit());
    latches.clear();
    return context.log->WaitVisible(newest);
  };
  const Status resolved = Resolve(set);
  if (resolved.code() == StatusCode::kAlreadyExists) RETURN_IF_ERROR(wait_for_pending());
  RETURN_IF_ERROR(resolved);
  const ByteBuffer meta = SerializeCommitMeta(MetaOf(set));
  ByteBuffer changes;
  TableWriter::LoggedRows logged;
  uint64_t user_bytes = 0;
  for (const TableWriter* writer : set.writers) {
    writer->Log(&logged, &changes);
    user_bytes += writer->user_bytes();
  }
  if (changes.empty() && set.changes.empty() && set.adopted.empty()) {
    RETURN_IF_ERROR(wait_for_pending());
    return uint64_t{0};
  }
  const Bytes body[] = {meta, changes};
  ASSIGN_OR_RETURN(const CommitLog::Ticket ticket, context.log->Append(body, set.publish));
  set.logged = true;
  for (TableWriter* writer : set.writers) writer->Apply(ticket.commit, ticket.lsn);
  Adopt(set, ticket.commit);
  Define(set, false);
  context.snapshots->Note({ticket.commit, ticket.time});
  context.log->Applied(ticket);
  latches.clear();
  context.metrics.user_bytes.fetch_add(user_bytes, std::memory_order_relaxed);
  context.maintenance->NoteWrite();
  RETURN_IF_ERROR(context.log->WaitVisible(ticket));
  return ticket.commit;
}

}  // namespace petalite::store
