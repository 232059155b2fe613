// Texts of the pages. The lists were written for this project; they need a variety of shapes and lengths, not of
// meaning.

const lists = {
  en: 'Open Save Cancel Apply Settings Search Account Network Display Sound Printer Delete Archive Reply Forward Invoice Order Customer Address Payment Total Amount Shipping Report Export Import Share Download Upload Folder Document Picture Music Video Calendar Meeting Notes Project Team Member Role Permission Language Region Time Date Start Finish Next Back Continue Skip Help About Version Update Install Remove Enable Notifications Privacy Security Password Username Email Phone City Country Company Department Manager Status Pending Active Closed Draft Review Approve Reject Comment Attachment Priority High Low Filter Sort Group View Zoom Rotate Crop Layer Brush Colour Size Weight Height Width Volume Balance Speed Mode Automatic Manual Custom Default Advanced'.split(
    ' ',
  ),
  de: 'Öffnen Speichern Abbrechen Übernehmen Einstellungen Suchen Konto Netzwerk Anzeige Drucker Löschen Archivieren Antworten Weiterleiten Rechnung Bestellung Kunde Anschrift Zahlung Gesamtbetrag Versand Bericht Ausführen Ordner Dokument Bilder Musik Kalender Besprechung Benachrichtigungen Datenschutz Sicherheit Kennwort Benutzername Straße Größe Farbe Ansicht Hilfe Über Weiter Zurück Fertigstellen Schriftgröße Zugriffsberechtigung'.split(
    ' ',
  ),
  fr: 'Ouvrir Enregistrer Annuler Appliquer Paramètres Rechercher Compte Réseau Affichage Imprimante Supprimer Répondre Transférer Facture Commande Client Adresse Paiement Livraison Rapport Dossier Image Musique Calendrier Réunion Sécurité Utilisateur Couleur Taille Aide Suivant Précédent Terminer'.split(
    ' ',
  ),
  ru: 'Открыть Сохранить Отмена Применить Настройки Поиск Учётная запись Сеть Экран Принтер Удалить Ответить Переслать Счёт Заказ Клиент Адрес Оплата Итого Доставка Отчёт Папка Документ Музыка Календарь Встреча Уведомления Безопасность Пароль Размер Цвет Справка Далее Назад Готово'.split(
    ' ',
  ),
  es: 'Abrir Guardar Cancelar Aplicar Ajustes Buscar Cuenta Red Pantalla Impresora Eliminar Responder Reenviar Factura Pedido Cliente Dirección Pago Envío Informe Carpeta Imagen Música Calendario Reunión Seguridad Contraseña Usuario Tamaño Ayuda Siguiente Atrás Terminar'.split(
    ' ',
  ),
  pl: 'Otwórz Zapisz Anuluj Zastosuj Ustawienia Szukaj Konto Sieć Ekran Drukarka Usuń Odpowiedz Prześlij Faktura Zamówienie Klient Płatność Wysyłka Raport Folder Obraz Muzyka Kalendarz Spotkanie Powiadomienia Bezpieczeństwo Hasło Rozmiar Pomoc Dalej Wstecz Zakończ'.split(
    ' ',
  ),
  tr: 'Aç Kaydet İptal Uygula Ayarlar Ara Hesap Ağ Ekran Yazıcı Sil Yanıtla İlet Fatura Sipariş Müşteri Adres Ödeme Gönderim Rapor Klasör Resim Müzik Takvim Toplantı Bildirimler Güvenlik Parola Boyut Yardım İleri Geri Bitir'.split(
    ' ',
  ),
  el: 'Άνοιγμα Αποθήκευση Άκυρο Εφαρμογή Ρυθμίσεις Αναζήτηση Λογαριασμός Δίκτυο Οθόνη Εκτυπωτής Διαγραφή Απάντηση Τιμολόγιο Παραγγελία Πελάτης Πληρωμή Αναφορά Φάκελος Εικόνα Μουσική Ημερολόγιο Ασφάλεια Μέγεθος Βοήθεια Επόμενο Πίσω Τέλος'.split(
    ' ',
  ),
  zh: '打开 保存 取消 应用 设置 搜索 账户 网络 显示 声音 打印机 删除 归档 回复 转发 发票 订单 客户 地址 付款 合计 金额 配送 报表 导出 导入 分享 下载 上传 文件夹 文档 图片 音乐 视频 日历 会议 笔记 项目 团队 成员 角色 权限 语言 地区 时间 日期 开始 完成 下一步 返回 继续 跳过 帮助 关于 版本 更新 安装 卸载 启用 通知 隐私 安全 密码 用户名 邮箱 电话 城市 公司 部门 经理 状态 待处理 已关闭 草稿 审核 批准 拒绝 备注 附件 优先级 筛选 排序 视图'.split(
    ' ',
  ),
  ja: '開く 保存 キャンセル 適用 設定 検索 アカウント ネットワーク 表示 サウンド プリンター 削除 返信 転送 請求書 注文 顧客 住所 支払い 合計 配送 レポート フォルダー ドキュメント 画像 音楽 カレンダー 会議 通知 プライバシー セキュリティ パスワード 言語 地域 次へ 戻る 完了 ヘルプ'.split(
    ' ',
  ),
  ko: '열기 저장 취소 적용 설정 검색 계정 네트워크 화면 프린터 삭제 답장 전달 청구서 주문 고객 주소 결제 합계 배송 보고서 폴더 문서 사진 음악 일정 회의 알림 보안 비밀번호 언어 다음 뒤로 완료 도움말'.split(
    ' ',
  ),
  ar: 'فتح حفظ إلغاء تطبيق إعدادات بحث حساب شبكة عرض طابعة حذف رد تحويل فاتورة طلب عميل عنوان دفع المجموع شحن تقرير مجلد مستند صور موسيقى تقويم اجتماع إشعارات أمان كلمة اللغة التالي السابق تم مساعدة'.split(
    ' ',
  ),
};

export const languages = Object.keys(lists);

/** Half of all pages are English, a fifth Chinese, the rest any language. */
export function language(r) {
  const x = r.next();
  return x < 0.5 ? 'en' : x < 0.7 ? 'zh' : r.pick(languages);
}

/** Texts of one language for one page. */
export function texts(r, lang) {
  const dense = lang === 'zh' || lang === 'ja';
  const word = () => r.pick(lists[lang]);
  const words = (low, high) => r.many(low, high, word).join(dense ? '' : ' ');
  const number = () =>
    r.pick([String(r.int(0, 99)), r.int(100, 9999).toLocaleString('en-US'), `${r.int(1, 999)}.${r.int(10, 99)}`]);
  const value = () =>
    r.pick([
      word,
      () => words(1, 3),
      number,
      () => `${r.int(1, 28)}.${r.int(1, 12)}.20${r.int(10, 29)}`,
      () => `user${r.int(1, 99)}@example.org`,
    ])();
  const sentence = () => words(5, 14) + (dense ? '。' : '.');
  const file = () => `${words(1, 2)}${r.pick(['.txt', '.pdf', '.png', '.odt', '.zip', ''])}`;
  const code = () =>
    '&nbsp;'.repeat(2 * r.int(0, 4)) +
    r.pick(['let', 'fn', 'if', 'return', 'for', '//', '$', 'const', 'drwxr-xr-x', 'import']) +
    ' ' +
    r
      .many(1, 7, () =>
        r.pick([
          'value',
          'index',
          '=',
          '(x)',
          '{',
          '}',
          '0x1f',
          '-&gt;',
          'name.len()',
          '"text"',
          '4096',
          'item;',
          '/usr/lib',
          '+',
        ]),
      )
      .join(' ');
  return { lang, word, words, number, value, sentence, file, code, rtl: lang === 'ar' };
}
