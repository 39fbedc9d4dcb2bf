/** German, loaded on demand. */
import { ACCESS } from './de/access.ts'
import { AUDIT } from './de/audit.ts'
import { CATALOGUE } from './de/catalogue.ts'
import { CUSTOMER } from './de/customer.ts'
import { DOCUMENTS } from './de/documents.ts'
import { EVENTS } from './de/events.ts'
import { FILE_TYPES } from './de/file-types.ts'
import { FRAME } from './de/frame.ts'
import { OVERVIEW } from './de/overview.ts'
import { SESSIONS } from './de/sessions.ts'
import { SETTINGS } from './de/settings.ts'
import { WHY } from './de/why.ts'
import type { Words } from './en.ts'

export const DE: Words = {
  ...FRAME,
  ...OVERVIEW,
  ...CATALOGUE,
  ...CUSTOMER,
  ...DOCUMENTS,
  ...SESSIONS,
  ...FILE_TYPES,
  ...WHY,
  ...ACCESS,
  ...AUDIT,
  ...EVENTS,
  ...SETTINGS,
}
