/** The taxes of rates that name none, as they are stored now. */
import { isDeepStrictEqual } from 'node:util'
import {
  type InstalledTaxation,
  type Taxation,
  taxationOf,
} from '../catalog/settings/taxation-settings.ts'
import type { Catalogue } from '../domain/catalogue.ts'
import { createTaxMappings, type TaxMapping } from '../rating/tax-mapping.ts'
import type { Logger } from '../runtime/log.ts'

export interface TaxRules {
  /** For one request: both are of the same settings. */
  now(taxes: Catalogue['taxes']): { defaultTax: string | null; mapTax: TaxMapping }
  /** Takes over what is stored; what cannot be used changes nothing. Never throws. */
  follow(stored: unknown): void
}

export function createTaxRules(installed: InstalledTaxation, log: Pick<Logger, 'error'>): TaxRules {
  let followed: unknown = {}
  let taxation: Taxation = taxationOf(followed, installed)
  let mappingOf = createTaxMappings(taxation.taxPriorities)
  return {
    now: (taxes) => ({ defaultTax: taxation.defaultTax, mapTax: mappingOf(taxes) }),
    follow(stored) {
      // What was rated with the mappings stays known as long as these are the same.
      if (isDeepStrictEqual(stored, followed)) return
      followed = stored
      try {
        taxation = taxationOf(stored, installed)
      } catch (error) {
        log.error({ err: error }, 'stored taxation cannot be used; the last one stays')
        return
      }
      mappingOf = createTaxMappings(taxation.taxPriorities)
    },
  }
}
