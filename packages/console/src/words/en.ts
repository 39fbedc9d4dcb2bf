/**
 * All texts in English; the keys of other languages are these. One file per page in `en/`: the
 * texts of the frame and of the first page, which shows peers too, are loaded at once, others with
 * what shows them.
 */
import type { ACCESS } from './en/access.ts'
import type { AUDIT } from './en/audit.ts'
import type { CATALOGUE } from './en/catalogue.ts'
import type { CUSTOMER } from './en/customer.ts'
import type { CYCLE } from './en/cycle.ts'
import type { DOCUMENTS } from './en/documents.ts'
import type { EVENTS } from './en/events.ts'
import type { FILE_TYPES } from './en/file-types.ts'
import { FRAME } from './en/frame.ts'
import type { INVOICES } from './en/invoices.ts'
import { OVERVIEW } from './en/overview.ts'
import type { PAYMENTS } from './en/payments.ts'
import type { REPORTS } from './en/reports.ts'
import type { RERATE } from './en/rerate.ts'
import { SESSIONS } from './en/sessions.ts'
import type { SETTINGS } from './en/settings.ts'
import type { SIMULATOR } from './en/simulator.ts'
import type { USAGE_FILES } from './en/usage-files.ts'
import type { WHY } from './en/why.ts'

export const FIRST = { ...FRAME, ...OVERVIEW, ...SESSIONS } as const

type All = typeof FIRST &
  typeof ACCESS &
  typeof AUDIT &
  typeof CATALOGUE &
  typeof CUSTOMER &
  typeof CYCLE &
  typeof DOCUMENTS &
  typeof EVENTS &
  typeof FILE_TYPES &
  typeof INVOICES &
  typeof PAYMENTS &
  typeof REPORTS &
  typeof RERATE &
  typeof SIMULATOR &
  typeof SETTINGS &
  typeof USAGE_FILES &
  typeof WHY

export type WordKey = keyof All
export type Words = Readonly<Record<WordKey, string>>
