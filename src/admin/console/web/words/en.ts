/**
 * All texts in English; the keys of other languages are these. One file per page in `en/`: the
 * texts of the frame and of the first page are loaded at once, others with what shows them.
 */
import type { CATALOGUE } from './en/catalogue.ts'
import type { CUSTOMER } from './en/customer.ts'
import type { CYCLE } from './en/cycle.ts'
import type { DOCUMENTS } from './en/documents.ts'
import type { FILE_TYPES } from './en/file-types.ts'
import { FRAME } from './en/frame.ts'
import type { INVOICES } from './en/invoices.ts'
import { OVERVIEW } from './en/overview.ts'
import type { PAYMENTS } from './en/payments.ts'
import type { REPORTS } from './en/reports.ts'
import type { SESSIONS } from './en/sessions.ts'
import type { SIMULATOR } from './en/simulator.ts'
import type { WHY } from './en/why.ts'

export const FIRST = { ...FRAME, ...OVERVIEW } as const

type All = typeof FIRST &
  typeof CATALOGUE &
  typeof CUSTOMER &
  typeof CYCLE &
  typeof DOCUMENTS &
  typeof FILE_TYPES &
  typeof INVOICES &
  typeof PAYMENTS &
  typeof REPORTS &
  typeof SESSIONS &
  typeof SIMULATOR &
  typeof WHY

export type WordKey = keyof All
export type Words = Readonly<Record<WordKey, string>>
