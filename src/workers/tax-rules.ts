/** The stored rules for taxes of rates that name none. */
import { isDeepStrictEqual } from 'node:util'
import {
  type InstalledTaxation,
  type Taxation,
  taxationOf,
} from '../catalog/settings/money/taxation-settings.ts'
import type { Catalogue } from '../domain/catalogue.ts'
import { createTaxMappings, type TaxMapping } from '../rating/tax-mapping.ts'
import type { Logger } from '../runtime/log.ts'

export interface TaxRules {
  /** The rules for one request, both from the same settings. */
  now(taxes: Catalogue['taxes']): { defaultTax: string | null; mapTax: TaxMapping }
  /** Applies stored settings; invalid ones change nothing. Never throws. */
  follow(stored: unknown): void
}

export function createTaxRules(installed: InstalledTaxation, log: Pick<Logger, 'error'>): TaxRules {
  let followed: unknown = {}
  let taxation: Taxation = taxationOf(followed, installed)
  let mappingOf = createTaxMappings(taxation.taxPriorities)
  return {
    now: (taxes) => ({ defaultTax: taxation.defaultTax, mapTax: mappingOf(taxes) }),
    follow(stored) {
      // Rated services are cached by the mapping object, which therefore stays the same for equal
      // settings.
      if (isDeepStrictEqual(stored, followed)) return
      followed = stored
      try {
        taxation = taxationOf(stored, installed)
      } catch (error) {
        log.error({ err: error }, 'stored taxation is invalid; the previous one stays in force')
        return
      }
      mappingOf = createTaxMappings(taxation.taxPriorities)
    },
  }
}
