/** All actions of `/api`. A new one is a file and a row here. */
import { accountinvoices } from './account-invoices.ts'
import type { Action } from './action.ts'
import { adjustpayments, reject } from './adjust-payments.ts'
import { bill } from './bill.ts'
import { confirmcycle } from './billrun/confirm-cycle.ts'
import { billrunChargestatus, cycle, cycles } from './billrun/cycles.ts'
import { retryparked, skipparked } from './billrun/parked.ts'
import { preview } from './billrun/preview.ts'
import { completecycle, pausecycle, resetcycle, specificcycle } from './billrun/run-cycle.ts'
import { bulkcredit } from './bulkcredit.ts'
import { cards } from './cards.ts'
import { charge } from './charge.ts'
import { charges } from './charges.ts'
import { chargestatus } from './chargestatus.ts'
import { clearcache } from './clearcache.ts'
import { credit } from './credit.ts'
import { activity } from './deprecated/activity.ts'
import { balance } from './deprecated/balance.ts'
import { balances } from './deprecated/balances.ts'
import { datausage } from './deprecated/datausage.ts'
import { find } from './deprecated/find.ts'
import { plans } from './deprecated/plans.ts'
import { rates } from './deprecated/rates.ts'
import { remove } from './deprecated/remove.ts'
import { save } from './deprecated/save.ts'
import { statistics } from './deprecated/statistics.ts'
import { subscribers } from './deprecated/subscribers.ts'
import { filetypecheck } from './filetype-check.ts'
import { filetypes } from './filetypes.ts'
import { generateexpected } from './generate-expected.ts'
import { lines, linesdrop, linesresubmit } from './lines/charge-lines.ts'
import { linesfiles, linesrejected } from './lines/files.ts'
import { onetimeinvoice } from './onetime-invoice.ts'
import { operations } from './operations.ts'
import { pay } from './pay.ts'
import { querybillrun } from './querybillrun.ts'
import { quote } from './quote.ts'
import { recreateinvoices } from './recreate-invoices.ts'
import { releasesessions } from './release-sessions.ts'
import { report } from './report.ts'
import { reports } from './reports.ts'
import { rerate, rerates } from './rerate.ts'
import { resetlines } from './resetlines.ts'
import { search } from './search.ts'
import { sessions } from './sessions.ts'
import { subscribersautorenew } from './subscribersautorenew.ts'
import {
  tariffs,
  tariffscancel,
  tariffscheck,
  tariffsprepare,
  tariffsrollback,
  tariffsschedule,
} from './tariffs.ts'
import { usedby } from './used-by.ts'

export const ACTIONS: readonly Action[] = [
  credit,
  bulkcredit,
  pay,
  bill,
  adjustpayments,
  reject,
  accountinvoices,
  cards,
  charge,
  charges,
  chargestatus,
  onetimeinvoice,
  generateexpected,
  querybillrun,
  recreateinvoices,
  clearcache,
  subscribersautorenew,
  reports,
  report,
  completecycle,
  pausecycle,
  specificcycle,
  resetcycle,
  retryparked,
  skipparked,
  preview,
  confirmcycle,
  cycles,
  cycle,
  billrunChargestatus,
  operations,
  search,
  usedby,
  sessions,
  releasesessions,
  quote,
  filetypes,
  filetypecheck,
  rerate,
  rerates,
  resetlines,
  lines,
  linesfiles,
  linesrejected,
  linesresubmit,
  linesdrop,
  tariffs,
  tariffsprepare,
  tariffscheck,
  tariffsschedule,
  tariffscancel,
  tariffsrollback,
  balance,
  datausage,
  activity,
  find,
  save,
  rates,
  plans,
  remove,
  subscribers,
  balances,
  statistics,
]
