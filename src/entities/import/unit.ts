/**
 * A unit of an import, which is written completely or not at all: one row, or all lines of a rate.
 */
import type { Fields } from '../../domain/fields.ts'

/** The price of a rate in a plan or service. */
export interface ImportedPrice {
  collection: 'plans' | 'services'
  name: string
  /** Labels of the rows with the price. */
  labels: string[]
  /** Steps by usage type. */
  usagets: [string, Fields[]][]
}

export interface ValidUnit {
  /** Labels of its rows. */
  labels: string[]
  update: Fields
  linkerValue: string
  updaterValue: string
  /** For rates: steps by usage type, and prices in plans and services. */
  prices: readonly [string, Fields[]][]
  overrides: readonly ImportedPrice[]
  /**
   * Labels of the rows about the rate itself; empty if there are only prices in plans and services.
   */
  ownLabels: readonly string[]
}

export type Unit = ValidUnit | { labels: string[]; problem: string }

/** By the label of the row: true, or why it failed. */
export type RowResults = Map<string, true | string>

export function isValidUnit(unit: Unit): unit is ValidUnit {
  return !('problem' in unit)
}
