/** Set-ups by the name that case files give. */
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { useActionServer } from '../action-server.ts'
import * as billing from './billing-set-ups.ts'
import * as customers from './customer-set-ups.ts'
import * as cycles from './cycle-set-ups.ts'
import * as deprecated from './deprecated-set-ups.ts'
import * as entities from './entity-set-ups.ts'
import * as fileTypes from './file-type-set-ups.ts'
import * as framework from './framework-set-ups.ts'
import * as reports from './report-set-ups.ts'
import type { SetUp } from './set-up.ts'
import * as settings from './setting-set-ups.ts'

const plain = (): SetUp => ({ server: useActionServer(ACTIONS) })

export const SET_UPS: Readonly<Record<string, () => SetUp>> = {
  plain,
  ...billing,
  ...customers,
  ...cycles,
  ...deprecated,
  ...entities,
  ...fileTypes,
  ...framework,
  ...reports,
  ...settings,
}
