/** Keeps a worker's rules those of the file types and of the taxation that are stored. */
import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from '../catalog/connection.ts'
import { watchStoredConfig } from '../catalog/settings/stored-config-watch.ts'
import type { Config } from '../config/schema.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import type { FileType, FileTypeDefaults } from '../file-types/file-type.ts'
import { installedFileTypes } from '../file-types/installed.ts'
import type { Logger } from '../runtime/log.ts'
import type { NamedRules, RuleBook } from './rule-book.ts'
import type { TaxRules } from './tax-rules.ts'

export interface FileTypeRulesOptions {
  readonly catalog: Catalog
  readonly config: Config
  readonly log: Logger
  readonly rules: Pick<RuleBook, 'follow'>
  readonly taxes: Pick<TaxRules, 'follow'>
  /** Called when other rules have been taken over. Must not throw. */
  readonly onRules: () => void
}

export interface FileTypeRulesWatch {
  /** Resolves when the rules are known, or MongoDB is found to be away. */
  start(): Promise<void>
  /** Looks at once; resolves when what is stored now is known. */
  look(): Promise<void>
  /** Whether it was ever read. Until then nobody knows which taxes hold. */
  loaded(): boolean
}

export function watchFileTypeRules(options: FileTypeRulesOptions): FileTypeRulesWatch {
  const { catalog, config, log, rules, taxes, onRules } = options
  const defaults = fileTypeDefaultsOf(config)
  let taken: Promise<void> = Promise.resolve()
  const watch = watchStoredConfig({ catalog, pollMs: config.catalog.pollMs, log }, (stored) => {
    taxes.follow(stored.taxation)
    const named = installedFileTypes(stored.file_types, defaults).flatMap(({ fileType }) =>
      fileType === null ? [] : namedRules(fileType, defaults),
    )
    taken = rules
      .follow(named)
      .catch((err: unknown) => log.error({ err }, 'rules of a file type cannot be used'))
      .then(onRules)
  })
  return {
    async start() {
      await watch.start()
      await taken
    },
    async look() {
      await watch.pollNow()
      await taken
    },
    loaded: watch.loaded,
  }
}

/** What it has from the installation is undefined, and need not be compiled again. */
function namedRules({ rulesKey: key, rules }: FileType, { rules: own }: FileTypeDefaults) {
  if (rules === null) return []
  const named: NamedRules = {
    key,
    rateCalculators: ownOr(rules.rateCalculators, own.rateCalculators),
    customerIdentification: ownOr(rules.customerIdentification, own.customerIdentification),
  }
  return [named]
}

function ownOr(document: unknown, installed: unknown): unknown {
  return isDeepStrictEqual(document, installed) ? undefined : document
}
