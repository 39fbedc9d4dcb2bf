/** Subscribers of an account, by number. */
import { navigate } from '../../frame/routes.ts'
import { customerColumn, textColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { List, useList } from '../../parts/list.tsx'
import type { Revision } from '../../parts/revisions.ts'
import type { Column } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { readSubscribers } from './data.ts'
import { nameIn, textsIn } from './revisions.ts'

const sidOf = (subscriber: Revision) => textIn(subscriber, 'sid')

export function Subscribers({ aid }: { readonly aid: number }) {
  return (
    <List
      reading={useList(`subscribers ${aid}`, (after, signal) =>
        readSubscribers(aid, after, signal),
      )}
      empty={t('subscribers.none')}
      caption={t('records.subscribers')}
      columns={columns()}
      keyOf={sidOf}
      onOpen={(one) => navigate(`customer/sid/${sidOf(one)}`)}
    />
  )
}

const columns = (): Column<Revision>[] => [
  customerColumn('customer.sid', 'sid', sidOf),
  textColumn('subscribers.name', (one) => <span dir="auto">{nameIn(one)}</span>),
  textColumn('customer.msisdn', (one) => textsIn(one, 'msisdn').join(', ')),
  textColumn('customer.plan', (one) => textIn(one, 'plan')),
]
