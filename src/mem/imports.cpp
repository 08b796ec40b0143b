#include "mem/imports.hpp"

#include <link.h>

#include <cstdint>

namespace hr::mem {
namespace {

// Parts of a loaded object's dynamic section.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  std::size_t bytes[2] = {};
};

Tables tables_of(const dl_phdr_info& object) {
  Tables tables;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  }
  // Some loaders relocate these addresses in place, others do not.
  const auto address = [&](const ElfW(Dyn) & dynamic) {
    return dynamic.d_un.d_ptr < object.dlpi_addr ? dynamic.d_un.d_ptr + object.dlpi_addr : dynamic.d_un.d_ptr;
  };
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address(*entry));
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(address(*entry));
        break;
      case DT_RELA:
        tables.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address(*entry));
        break;
      case DT_RELASZ:
        tables.bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        tables.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address(*entry));
        break;
      case DT_PLTRELSZ:
        tables.bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

bool imports(const Tables& tables, std::initializer_list<std::string_view> prefixes) {
  if (tables.symbols == nullptr || tables.names == nullptr) return false;
  for (int part = 0; part < 2; ++part) {
    const std::size_t count = tables.relocations[part] == nullptr ? 0 : tables.bytes[part] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym) & symbol = tables.symbols[ELF64_R_SYM(tables.relocations[part][i].r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const std::string_view name = tables.names + symbol.st_name;
      for (const std::string_view prefix : prefixes) {
        if (name.starts_with(prefix)) return true;
      }
    }
  }
  return false;
}

struct Search {
  std::initializer_list<std::string_view> prefixes;
  bool found = false;
};

}  // namespace

bool anyone_imports(std::initializer_list<std::string_view> prefixes) {
  Search search{prefixes};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* argument) {
        auto* const search = static_cast<Search*>(argument);
        search->found = imports(tables_of(*object), search->prefixes);
        return search->found ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace hr::mem
