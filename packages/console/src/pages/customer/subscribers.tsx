/** Subscribers of an account, by number. */
import { useRead } from '../../api/read.ts'
import { link, navigate } from '../../frame/routes.ts'
import { textIn } from '../../parts/differences.ts'
import type { Revision } from '../../parts/revisions.ts'
import { ReadView } from '../../parts/state.tsx'
import { Pager, pageKey, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { readSubscribers } from './data.ts'
import { nameIn, textsIn } from './revisions.ts'

const pageFor = (subscriber: Revision) => `customer/sid/${textIn(subscriber, 'sid')}`

export function Subscribers({ aid }: { readonly aid: number }) {
  const after = pageKey()
  const reading = useRead(`subscribers ${aid} ${after}`, (signal) =>
    readSubscribers(aid, after, signal),
  )
  return (
    <ReadView
      reading={reading}
      isEmpty={(page) => page.rows.length === 0 && after === null}
      empty={t('subscribers.none')}
    >
      {(page) => (
        <>
          <Table
            caption={t('records.subscribers')}
            columns={columns()}
            rows={page.rows}
            keyOf={(one) => textIn(one, 'sid')}
            onOpen={(one) => navigate(pageFor(one))}
          />
          <Pager next={page.next} />
        </>
      )}
    </ReadView>
  )
}

const columns = () => [
  {
    title: t('customer.sid'),
    cell: (one: Revision) => <a href={link(pageFor(one))}>{textIn(one, 'sid')}</a>,
  },
  { title: t('subscribers.name'), cell: (one: Revision) => <span dir="auto">{nameIn(one)}</span> },
  { title: t('customer.msisdn'), cell: (one: Revision) => textsIn(one, 'msisdn').join(', ') },
  { title: t('customer.plan'), cell: (one: Revision) => textIn(one, 'plan') },
]
