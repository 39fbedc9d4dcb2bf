/** What a scenario of the benchmark is given, and what it gives. */

import type { Product, ProductOptions } from '../test/support/product/product.ts'
import type { Flow, Protocol } from './generator/job.ts'

export interface Settings {
  /** Of each measured window. */
  seconds: number
  subscribers: number
  connections: number
  /** Worker threads; 0: as the product has it. */
  workers: number
  /** Of the sustained load. */
  sustainedSeconds: number
  /** All in less than a minute: one window where the long form has several. */
  short: boolean
  /** Subscribers and open sessions of the scenario `memory`. */
  population: number
  sessions: number
  /** How long the scenario `overload` holds each commit, ms. */
  holdMs: number
}

/** Rows of a table; the first cell of each names it. Numbers are shown as they are. */
export interface Table {
  title: string
  columns: readonly string[]
  rows: readonly (readonly (string | number)[])[]
}

/** What the issue asks of a figure, beside what it is. Met or not, nothing fails. */
export interface Goal {
  what: string
  is: number
  /** At least, or at most. */
  wanted: { atLeast: number } | { atMost: number }
  /** What was measured proves nothing; then it is not met. */
  isVoid?: boolean
}

/** A curve for the plots of the documentation. */
export interface Curve {
  name: string
  /** x and y. */
  points: readonly (readonly [number, number])[]
}

export interface ScenarioResult {
  /** By name; units are part of the names. */
  figures: Record<string, number>
  /** Shares of a ceiling of the same run: what `bench:compare` compares. Greater is better. */
  ratios: Record<string, number>
  goals: readonly Goal[]
  tables: readonly Table[]
  /** For plots, by plot. */
  curves?: Record<string, readonly Curve[]>
  /** What has to be known to read the figures; a run that proves nothing says so here. */
  notes: readonly string[]
  /** What may never be, and was: exactness. Any makes the exit code of the benchmark 1. */
  failures?: readonly string[]
}

export interface Scenario {
  name: string
  /** One line. */
  what: string
  /** Part of the short form. */
  inShort?: boolean
  run(bench: Bench): Promise<ScenarioResult>
}

/** The scenario cannot run here; the message says why. */
export class SkippedError extends Error {
  override name = 'SkippedError'
}

/** What a product of the benchmark differs in from the usual one. */
export interface ProductKind extends ProductOptions {
  environment?: Record<string, string>
  /** The admin process too: batch sizes and the backlog are read there. Default true. */
  admin?: boolean
}

export interface Bench {
  settings: Settings
  say(text: string): void
  /** One that is seeded and warm. Scenarios that ask for the same kind in a row share it. */
  product(kind: ProductKind): Promise<Product>
  /** Ends what `product` has started, if it was started. */
  endProduct(): Promise<void>
  /** A closed loop on a product, with what is usual; `more` replaces some of that. */
  flow(product: Product, protocol: Protocol, more?: Partial<Flow>): Flow
}
