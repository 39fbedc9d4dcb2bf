/** German, loaded on demand. */
import { ACCESS } from './de/access.ts'
import { AUDIT } from './de/audit.ts'
import { CATALOGUE } from './de/catalogue.ts'
import { CUSTOMER } from './de/customer.ts'
import { CYCLE } from './de/cycle.ts'
import { DOCUMENTS } from './de/documents.ts'
import { EVENTS } from './de/events.ts'
import { FILE_TYPES } from './de/file-types.ts'
import { FRAME } from './de/frame.ts'
import { INVOICES } from './de/invoices.ts'
import { OVERVIEW } from './de/overview.ts'
import { PAYMENTS } from './de/payments.ts'
import { REPORTS } from './de/reports.ts'
import { RERATE } from './de/rerate.ts'
import { SESSIONS } from './de/sessions.ts'
import { SETTINGS } from './de/settings.ts'
import { SIMULATOR } from './de/simulator.ts'
import { USAGE_FILES } from './de/usage-files.ts'
import { WHY } from './de/why.ts'
import type { Words } from './en.ts'

export const DE: Words = {
  ...FRAME,
  ...OVERVIEW,
  ...CATALOGUE,
  ...CUSTOMER,
  ...CYCLE,
  ...DOCUMENTS,
  ...INVOICES,
  ...PAYMENTS,
  ...REPORTS,
  ...RERATE,
  ...SESSIONS,
  ...FILE_TYPES,
  ...SIMULATOR,
  ...WHY,
  ...ACCESS,
  ...AUDIT,
  ...EVENTS,
  ...SETTINGS,
  ...USAGE_FILES,
}
