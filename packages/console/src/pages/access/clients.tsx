/** Clients: programs with a secret, which is shown once. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { changeSetting, readSetting } from '../../api/settings.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn, timeColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyId } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { List } from '../../parts/list.tsx'
import { announce } from '../../parts/live-region.tsx'
import type { Column } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { knownRoles, RoleBoxes } from './roles.tsx'

interface Client extends Fields {
  readonly name: string
  readonly roles: readonly string[]
}

const CATEGORY = 'shared_secret'

interface ClientDialog {
  readonly what: 'create' | 'update' | 'remove'
  readonly client: Client | null
}

export function Clients() {
  const reading = useRead('clients', async (signal) => {
    const { value, rev } = await readSetting(CATEGORY, { signal })
    return { rows: (value ?? []) as readonly Client[], next: null, rev }
  })
  const { data } = reading.state.value
  const [dialog, setDialog] = useState<ClientDialog | null>(null)
  const done = (text: string) => {
    announce(text)
    reading.reload()
  }
  return (
    <>
      <p>{t('access.clientsAbout')}</p>
      <div class="buttons">
        <ActionButton
          action="settings/set"
          kind="main"
          onAct={() => setDialog({ what: 'create', client: null })}
        >
          {t('access.createClient')}
        </ActionButton>
      </div>
      <List
        reading={reading}
        height={4}
        empty={t('access.noClients')}
        caption={t('access.clients')}
        columns={columnsOf((what, client) => setDialog({ what, client }))}
        keyOf={({ name }) => name}
      />
      {dialog !== null && data !== null && (
        <RowDialog {...dialog} rev={data.rev} onDone={done} onClose={() => setDialog(null)} />
      )}
    </>
  )
}

function columnsOf(ask: (what: ClientDialog['what'], client: Client) => void): Column<Client>[] {
  const timeIn = (field: string) => (client: Client) => textIn(client, field) || null
  return [
    textColumn('access.client', ({ name }) => <span class="id">{name}</span>),
    textColumn('access.roles', ({ roles }) => roles.join(', ') || t('access.noRoles')),
    textColumn('access.state', ({ disabled }) => {
      return t(disabled === true ? 'access.disabled' : 'access.enabled')
    }),
    textColumn('access.signature', ({ signature }) => {
      return t(signature === true ? 'access.maySign' : 'access.tokensOnly')
    }),
    timeColumn('access.expires', timeIn('to')),
    timeColumn('access.created', timeIn('created_at')),
    textColumn('access.createdBy', (client) => textIn(client, 'created_by')),
    textColumn('access.changes', (client) => (
      <div class="row-buttons">
        <ActionButton action="settings/set" isBrief onAct={() => ask('update', client)}>
          {t('access.updateUser')}
        </ActionButton>
        <ActionButton
          action="settings/set"
          kind="danger"
          isBrief
          onAct={() => ask('remove', client)}
        >
          {t('access.remove')}
        </ActionButton>
      </div>
    )),
  ]
}

interface RowDialogProps extends ClientDialog {
  /** Version of the list: a change of others is not overwritten. */
  readonly rev: number
  readonly onDone: (text: string) => void
  readonly onClose: () => void
}

function RowDialog(props: RowDialogProps) {
  const { what, client, rev, onDone, onClose } = props
  if (what !== 'remove') return <ClientForm {...props} />
  const name = client?.name ?? ''
  return (
    <Confirm
      title={t('access.removeTitle', { name })}
      about={t('access.removeAbout')}
      act={t('access.remove')}
      action="settings/set"
      onAct={async () => {
        await changeSetting({ action: 'unset', category: CATEGORY, data: { name }, rev })
        onDone(t('access.removed', { name }))
      }}
      onClose={onClose}
    />
  )
}

function ClientForm({ client, rev, onDone, onClose }: RowDialogProps) {
  const [secret, setSecret] = useState<string | null>(null)
  const before = {
    name: client?.name ?? '',
    roles: client?.roles ?? [],
    to: textIn(client ?? {}, 'to'),
    use: client?.['signature'] === false ? 'tokens' : 'both',
    state: client?.['disabled'] === true ? 'disabled' : 'enabled',
  }
  const form = useForm(before, async ({ name, roles, to, use, state }) => {
    const data = { name, roles, to, signature: use === 'both', disabled: state === 'disabled' }
    const answer = await changeSetting({ action: 'set', category: CATEGORY, data, rev })
    const key = textIn(answer as Fields, 'key')
    onDone(t('access.clientSaved', { name }))
    if (key === '') onClose()
    else setSecret(key)
  })
  const { name, roles } = form.values.value
  if (secret !== null) return <Secret name={name} secret={secret} onClose={onClose} />
  const isNew = client === null
  return (
    <Dialog
      title={isNew ? t('access.createClient') : t('access.updateUserTitle', { name })}
      onClose={onClose}
    >
      <Form form={form} save={t('access.save')} action="settings/set">
        {isNew && (
          <Field
            label={t('access.client')}
            {...form.field('name')}
            input={{ required: true, autocomplete: 'off', autofocus: true, maxLength: 64 }}
          />
        )}
        <RoleBoxes
          roles={knownRoles(roles)}
          chosen={roles}
          onChange={(chosen) => form.set('roles', chosen)}
          error={form.errorAt('roles')}
        />
        <Field
          label={t('access.expires')}
          hint={t('access.expiresHint')}
          {...form.field('to')}
          input={{ autocomplete: 'off', maxLength: 64 }}
        />
        <Field
          label={t('access.signature')}
          {...form.field('use')}
          choices={choicesOf('both', 'tokens')}
        />
        <Field
          label={t('access.state')}
          {...form.field('state')}
          choices={choicesOf('enabled', 'disabled')}
        />
      </Form>
    </Dialog>
  )
}

function choicesOf(...values: readonly ('both' | 'tokens' | 'enabled' | 'disabled')[]) {
  return values.map((value) => ({ value, label: t(`access.${value}`) }))
}

interface SecretProps {
  readonly name: string
  readonly secret: string
  readonly onClose: () => void
}

function Secret({ name, secret, onClose }: SecretProps) {
  return (
    <Dialog title={t('access.secretTitle', { name })} onClose={onClose}>
      <p>{t('access.secretAbout')}</p>
      <CopyId id={secret} />
    </Dialog>
  )
}
