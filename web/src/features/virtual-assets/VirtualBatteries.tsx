import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function VirtualBatteries() {
  return (
    <Page title="VirtualBatteries">
      <Empty title="This screen is being built" />
    </Page>
  )
}
