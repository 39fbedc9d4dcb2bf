/** Input and result of a scenario of the benchmark. */

import type { Product, ProductOptions } from '../test/support/product/product.ts'
import type { Flow, Protocol } from './generator/job.ts'

export interface Settings {
  /** Duration of each measured window. */
  seconds: number
  subscribers: number
  connections: number
  /** Workers of the product, which has defaults for 0 and undefined. */
  workers: number
  workerKind: string | undefined
  /** Duration of the sustained load. */
  sustainedSeconds: number
  /** Short form, less than a minute in total: one window instead of several. */
  short: boolean
  /** Subscribers and open sessions of the scenario `memory`. */
  population: number
  sessions: number
  /** How long the scenario `overload` holds each commit, ms. */
  holdMs: number
}

/** Rows of a table; the first cell of each is its name. Numbers are printed unchanged. */
export interface Table {
  title: string
  columns: readonly string[]
  rows: readonly (readonly (string | number)[])[]
}

/** A goal for a value. A missed goal fails nothing. */
export interface Goal {
  what: string
  is: number
  /** Lower or upper bound. */
  wanted: { atLeast: number } | { atMost: number }
  /** True if the measurement is not conclusive; the goal is missed then. */
  isVoid?: boolean
}

/** A curve for the plots of the documentation. */
export interface Curve {
  name: string
  /** Pairs of x and y. */
  points: readonly (readonly [number, number])[]
}

export interface ScenarioResult {
  /** By name; units are part of the names. */
  figures: Record<string, number>
  /** Shares of a ceiling of the same run, compared by `bench:compare`. Greater is better. */
  ratios: Record<string, number>
  goals: readonly Goal[]
  tables: readonly Table[]
  /** Curves by plot. */
  curves?: Record<string, readonly Curve[]>
  /** Information needed to read the values; an inconclusive run is reported here. */
  notes: readonly string[]
  /** Failed correctness checks. Any of them sets the exit code of the benchmark to 1. */
  failures?: readonly string[]
}

export interface Scenario {
  name: string
  /** Description in one line. */
  what: string
  /** True if it is part of the short form. */
  inShort?: boolean
  run(bench: Bench): Promise<ScenarioResult>
}

/** The scenario cannot run here; the message gives the reason. */
export class SkippedError extends Error {
  override name = 'SkippedError'
}

/** Differences of a product from the usual one. */
export interface ProductKind extends ProductOptions {
  environment?: Record<string, string>
  /** Also start the admin process, which reports batch sizes and the backlog. Default true. */
  admin?: boolean
}

export interface Bench {
  settings: Settings
  say(text: string): void
  /** A seeded and warm product. Consecutive scenarios that request the same kind share it. */
  product(kind: ProductKind): Promise<Product>
  /** Ends the product started by `product`, if any. */
  endProduct(): Promise<void>
  /** Where the products given since the last call have their workers, as notes of a result. */
  takePlaces(): string[]
  /** A closed loop on a product with defaults, some of which `more` replaces. */
  flow(product: Product, protocol: Protocol, more?: Partial<Flow>): Flow
}
