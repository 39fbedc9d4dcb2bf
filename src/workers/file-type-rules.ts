/**
 * Updates a worker from the stored configuration: the rules of file types, the taxation, the
 * customer system, and the rules for events.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from '../catalog/connection.ts'
import { watchStoredConfig } from '../catalog/settings/stored-config-watch.ts'
import type { Config } from '../config/schema.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import type { FileTypeDefaults, RatedFormat } from '../file-types/file-type.ts'
import { installedFileTypes } from '../file-types/installed.ts'
import type { Logger } from '../runtime/log.ts'
import type { CustomerSystem } from './customers/customer-system.ts'
import type { EventRules } from './event-rules.ts'
import type { NamedRules, RuleBook } from './rule-book.ts'
import type { TaxRules } from './tax-rules.ts'

export interface FileTypeRulesOptions {
  readonly catalog: Catalog
  readonly config: Config
  readonly log: Logger
  readonly rules: Pick<RuleBook, 'follow'>
  readonly taxes: Pick<TaxRules, 'follow'>
  readonly customers: Pick<CustomerSystem, 'follow'>
  readonly events: Pick<EventRules, 'follow'>
  /** Called when rules have changed. Must not throw. */
  readonly onRules: () => void
}

export interface FileTypeRulesWatch {
  /** Resolves when the rules are loaded, or MongoDB is unavailable. */
  start(): Promise<void>
  /** Polls immediately; resolves when the stored rules are loaded. */
  look(): Promise<void>
  /** Whether the stored configuration was ever read. Until then the taxes in force are unknown. */
  loaded(): boolean
  stop(): Promise<void>
}

export function watchFileTypeRules(options: FileTypeRulesOptions): FileTypeRulesWatch {
  const { catalog, config, log, rules, taxes, customers, events, onRules } = options
  const defaults = fileTypeDefaultsOf(config)
  let taken: Promise<void> = Promise.resolve()
  const watch = watchStoredConfig({ catalog, pollMs: config.catalog.pollMs, log }, (stored) => {
    taxes.follow(stored.taxation)
    customers.follow(stored.subscribers)
    events.follow(stored.events)
    const named = installedFileTypes(stored.file_types, defaults).flatMap(({ fileType }) =>
      fileType === null ? [] : namedRules(fileType, defaults),
    )
    taken = rules
      .follow(named)
      .catch((err: unknown) => log.error({ err }, 'rules of a file type are invalid'))
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
    stop: () => watch.stop(),
  }
}

/** Rules equal to those of the installation are undefined and not compiled again. */
function namedRules({ rulesKey: key, rules }: RatedFormat, { rules: own }: FileTypeDefaults) {
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
