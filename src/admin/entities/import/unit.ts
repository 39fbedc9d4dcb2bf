/** What is written together, or not at all: a row, or all lines of one rate. */
import type { Fields } from '../../../domain/fields.ts'

/** The price of a rate in a plan or service. */
export interface ImportedPrice {
  collection: 'plans' | 'services'
  name: string
  /** Rows that it stands in. */
  labels: string[]
  /** Steps by usage type. */
  usagets: [string, Fields[]][]
}

export interface GoodUnit {
  /** Of its rows. */
  labels: string[]
  update: Fields
  linkedBy: string
  updatedBy: string
  /** Of a rate: its own steps by usage type, and those of plans and services. */
  prices: readonly [string, Fields[]][]
  overrides: readonly ImportedPrice[]
  /** Rows about the rate itself; none: there are only overrides. */
  ownLabels: readonly string[]
}

export type Unit = GoodUnit | { labels: string[]; problem: string }

/** By the label of a row: true, or why it failed. */
export type RowResults = Map<string, true | string>

export function isGood(unit: Unit): unit is GoodUnit {
  return !('problem' in unit)
}
