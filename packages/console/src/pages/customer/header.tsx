/** Names, ids with copy buttons, plan, services and state of a customer. */
import { useState } from 'preact/hooks'
import { useShortcuts } from '../../frame/keys.ts'
import { link, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CopyId } from '../../parts/copy.tsx'
import { textIn } from '../../parts/differences.ts'
import type { Revision } from '../../parts/revisions.ts'
import { missingText } from '../../parts/rights.ts'
import { Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { at, presentRevision } from './as-of.ts'
import type { Customer } from './data.ts'
import { Edit } from './edit.tsx'
import { nameIn, servicesIn, textsIn } from './revisions.ts'

interface HeaderProps {
  readonly customer: Customer
  readonly onChanged: () => void
}

export function Header({ customer, onChanged }: HeaderProps) {
  const { kind, aid, sid, revisions } = customer
  const chosen = at(location.value.query)
  const revision = presentRevision(revisions)
  const name = revision === null ? '' : nameIn(revision)
  const number = String(sid ?? aid)
  return (
    <header class="customer-header">
      <div class="title">
        <h1 tabIndex={-1} dir="auto">
          {name === '' ? t(`customer.${kind}`, { id: number }) : name}
        </h1>
        {revision !== null && (
          <EditButton customer={customer} revision={revision} onChanged={onChanged} />
        )}
      </div>
      {chosen !== null && <p class="muted">{t('customer.headerIsNow')}</p>}
      <dl class="facts">
        {sid !== null && <Ids title={t('customer.sid')} ids={[String(sid)]} />}
        <dt>{t('customer.aid')}</dt>
        <dd>
          <CopyId id={String(aid)} />{' '}
          {kind === 'subscriber' && (
            <a href={link(`customer/aid/${aid}`)}>{t('customer.showAccount')}</a>
          )}
        </dd>
        {revision !== null && <RevisionFacts revision={revision} />}
        <State customer={customer} revision={revision} />
      </dl>
    </header>
  )
}

interface EditButtonProps extends HeaderProps {
  readonly revision: Revision
}

function EditButton({ customer, revision, onChanged }: EditButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const action = `${customer.kind}s/update`
  const open = () => {
    if (missingText(action) === null) setOpen(true)
  }
  useShortcuts([{ keys: 'e', title: 'keys.edit', run: open }])
  return (
    <>
      <ActionButton action={action} isBrief onAct={open}>
        {t('edit.open')}
      </ActionButton>
      {isOpen && (
        <Edit
          customer={customer}
          revision={revision}
          onSaved={onChanged}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function RevisionFacts({ revision }: { readonly revision: Revision }) {
  const services = servicesIn(revision)
  return (
    <>
      <Ids title={t('customer.msisdn')} ids={textsIn(revision, 'msisdn')} />
      <Ids title={t('customer.imsi')} ids={textsIn(revision, 'imsi')} />
      <Fact title={t('customer.email')} text={textIn(revision, 'email')} />
      <Fact title={t('customer.plan')} text={textIn(revision, 'plan')} />
      {services.length > 0 && (
        <>
          <dt>{t('customer.services')}</dt>
          <dd dir="auto">
            {services.map(({ name, quantity }) => serviceText(name, quantity)).join(', ')}
          </dd>
        </>
      )}
    </>
  )
}

function serviceText(name: string, quantity: string): string {
  return quantity === '' || quantity === '1' ? name : `${name} × ${quantity}`
}

function Fact({ title, text }: { readonly title: string; readonly text: string }) {
  if (text === '') return null
  return (
    <>
      <dt>{title}</dt>
      <dd dir="auto">{text}</dd>
    </>
  )
}

function Ids({ title, ids }: { readonly title: string; readonly ids: readonly string[] }) {
  if (ids.length === 0) return null
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {ids.map((id) => (
          <CopyId key={id} id={id} />
        ))}
      </dd>
    </>
  )
}

interface StateProps {
  readonly customer: Customer
  readonly revision: Revision | null
}

/** State by word and mark, not by colour alone. */
function State({ customer, revision }: StateProps) {
  const last = customer.revisions.at(-1)
  const isBarred = revision?.['barred'] === true
  return (
    <>
      <dt>{t('customer.state')}</dt>
      <dd>
        {revision === null ? (
          <span class="mark bad">✕ {t('customer.ended')}</span>
        ) : (
          <span class={isBarred ? 'mark bad' : 'mark good'}>
            {isBarred ? `✕ ${t('customer.barred')}` : `● ${t('customer.active')}`}
          </span>
        )}{' '}
        {revision === null && last !== undefined && <Time value={last.to} precision="day" />}
      </dd>
    </>
  )
}
